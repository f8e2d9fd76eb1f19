package controlplane

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver"

	"github.com/farrier-dev/farrier/internal/controlplane/diskguard"
)

const (
	// defragLeast and defragShare are how many bytes of the database, and which part of it, must be unused for a defragmentation. It holds all
	// requests up for as long as it copies what is used.
	defragLeast = 256 << 20
	defragShare = 2
	// alarmShare is the part of the quota that must be free for the alarm to end, and unused for a defragmentation meanwhile.
	alarmShare = 10
	// quietEntries is how many entries of the log an interval may have and still be called quiet, and quietFor how many such intervals come before a
	// defragmentation. crowded is the part of the quota, as a divisor, whose use does not wait for that.
	quietEntries = 20
	quietFor     = 30
	crowded      = 4
	// upkeepTimeout bounds what is asked of the store.
	upkeepTimeout = time.Minute
)

// storeUse is what there is to know of the store to decide about its upkeep.
type storeUse struct {
	applied, snapshot uint64 // entries of the log so far, and when the last snapshot was made
	quiet             int    // how many intervals have been quiet
	size, inUse       int64  // bytes of the database
	quota             int64
	room              uint64 // bytes left of the disk
	alarm             bool   // the database has reached its quota
}

// storeUpkeep is what is to be done.
type storeUpkeep struct{ snapshot, compact, defrag, disarm bool }

// decideUpkeep decides it while the disk has room.
func decideUpkeep(u storeUse) storeUpkeep {
	unused := u.size - u.inUse
	worth := unused > defragLeast && unused > u.size/defragShare
	pressed := u.alarm && unused > u.quota/alarmShare || u.size > u.quota-u.quota/crowded && unused > u.quota/crowded
	fits := u.room > uint64(u.inUse)+diskguard.OpenMark
	return storeUpkeep{
		snapshot: u.applied-u.snapshot >= etcdSnapshotCount,
		compact:  u.alarm,
		defrag:   fits && (worth && u.quiet >= quietFor || pressed),
		disarm:   u.alarm && u.size < u.quota-u.quota/alarmShare,
	}
}

// upkeep does for the store what otherwise a person would have to do: it defragments the database and ends the alarm of its quota. It also has
// snapshots made, at moments when the disk has room for them: etcd by itself would make one when a number of entries is reached, and end when it
// cannot.
type upkeep struct {
	server *etcdserver.EtcdServer
	logger logr.Logger
	quota  int64
	room   func() uint64
	use    storeUse
	told   bool // that the database has reached its quota
}

// run is called at every interval of the guard, with its error.
func (u *upkeep) run(ctx context.Context, full error) {
	if full != nil {
		return
	}
	u.observe()
	todo := decideUpkeep(u.use)
	if u.use.alarm && !u.told {
		u.logger.Info("the store has reached its bound: objects can be deleted and not changed, until it has dropped its history", "bytes", u.use.size, "limit", u.quota)
	}
	u.told = u.use.alarm
	ctx, cancel := context.WithTimeout(ctx, upkeepTimeout)
	defer cancel()
	if todo.compact {
		u.compact(ctx)
	}
	if todo.defrag {
		u.defragment()
	}
	if todo.snapshot {
		u.use.snapshot = u.use.applied
		u.server.ForceSnapshot() // with the next entry, which follows
	}
	if todo.disarm || todo.snapshot {
		u.disarm(ctx, todo.disarm)
	}
}

func (u *upkeep) observe() {
	b := u.server.Backend()
	was := u.use
	u.use = storeUse{
		applied: u.server.AppliedIndex(), snapshot: was.snapshot, quiet: was.quiet + 1,
		size: b.Size(), inUse: b.SizeInUse(), quota: u.quota, room: u.room(), alarm: len(u.server.Alarms()) > 0,
	}
	if u.use.applied-was.applied > quietEntries {
		u.use.quiet = 0
	}
}

// compact drops history that the API server drops otherwise: while the alarm lasts it cannot, because it writes down how far it has come.
func (u *upkeep) compact(ctx context.Context) {
	revision := u.server.KV().Rev()
	if _, err := u.server.Compact(ctx, &pb.CompactionRequest{Revision: revision, Physical: true}); err != nil {
		u.logger.V(1).Info("store not compacted", "error", err)
	}
}

func (u *upkeep) defragment() {
	u.use.quiet = 0
	before := u.use.size
	if err := u.server.Defragment(); err != nil {
		u.logger.Info("store not defragmented", "error", err)
		return
	}
	u.logger.V(1).Info("store defragmented", "bytes", before-u.server.Backend().Size())
}

// disarm ends the alarm of the quota, if there is one: an alarm that is not needed costs nothing, one that is comes back with the next write. It is also
// the entry of the log that a snapshot waits for.
func (u *upkeep) disarm(ctx context.Context, was bool) {
	request := &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, MemberID: uint64(u.server.MemberID()), Alarm: pb.AlarmType_NOSPACE}
	if _, err := u.server.Alarm(ctx, request); err != nil {
		u.logger.V(1).Info("alarm of the store not ended", "error", err)
	} else if was {
		u.logger.Info("the store has room again", "bytes", u.use.size)
	}
}

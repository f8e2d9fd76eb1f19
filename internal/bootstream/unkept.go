package bootstream

import (
	"maps"
	"slices"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

// unkept is what could not be kept on disk yet. A full disk does not keep a boot server from following: machines are answered from memory,
// what is missing on disk is tried again at each heartbeat, and until then the position on disk stays where it was, so that a restart asks
// for all that is missing.
type unkept struct {
	keeper Keeper // nil: nothing is kept
	logger logr.Logger
	// records are the newest of each key.
	records map[string]*streampb.Record
	err     error
}

// append keeps records, or remembers them where that fails.
func (u *unkept) append(records []*streampb.Record) {
	if u.keeper == nil || len(records) == 0 {
		return
	}
	if u.err == nil {
		if u.err = u.keeper.Append(records, nil); u.err == nil {
			return
		}
		u.logger.Info("boot view not kept on disk", "error", u.err)
	}
	if u.records == nil {
		u.records = map[string]*streampb.Record{}
	}
	for _, r := range records {
		u.records[r.Key] = r
	}
}

// current keeps how far the boot server has come, behind everything that could not be kept before.
func (u *unkept) current(p Progress) {
	if u.keeper == nil {
		return
	}
	failed := u.err != nil
	if u.err = u.keeper.Append(slices.Collect(maps.Values(u.records)), &p); u.err == nil {
		u.records = nil
	}
	switch {
	case u.err == nil && failed:
		u.logger.Info("boot view kept on disk again")
	case u.err != nil && !failed:
		u.logger.Info("boot view not kept on disk", "error", u.err)
	}
}

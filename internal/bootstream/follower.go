package bootstream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

const (
	// firstPause and longestPause bound the wait before another manager is tried.
	firstPause, longestPause = 200 * time.Millisecond, 5 * time.Second
	// handshake bounds the wait for a Welcome.
	handshake = 10 * time.Second
	// silence is after how many heartbeats without a word a manager is taken to be away.
	silence = 3
)

// ErrOlder is why a snapshot was not taken: it was made of older objects than what is held.
var ErrOlder = errors.New("the manager's view is older than the one held")

// Applier puts records into use. Its methods are called one at a time.
type Applier interface {
	// Apply takes a record that is news. An error means that it cannot be used and the last good one of its key stays.
	Apply(*streampb.Record) error
	// Delete removes what there is of a key.
	Delete(key string)
	// SetSynced reports whether everything there is has been applied.
	SetSynced(bool)
}

// Progress is how far a boot server has come.
type Progress struct {
	Position *streampb.Position
	// Observed is what the view was made of: the newest resource version of each kind.
	Observed map[string]uint64
	// Heard is when a manager last said that nothing is missing; SecretsUntil is until when secrets may be used.
	Heard, SecretsUntil time.Time
}

// epoch is that of the journal; empty: there is no progress.
func (p *Progress) epoch() string {
	if p == nil {
		return ""
	}
	return p.Position.GetEpoch()
}

// Keeper keeps the view on disk. Its methods are called one at a time.
type Keeper interface {
	// Append keeps records, of which each has its epoch, and behind them how far the boot server has come, which may be nil. They are
	// durable when it returns.
	Append(records []*streampb.Record, progress *Progress) error
}

// Kept is what a Keeper had from an earlier run.
type Kept struct {
	// Records are the last ones of their keys, oldest first; deletions are among them.
	Records []*streampb.Record
	// Progress is nil if there was none.
	Progress *Progress
}

// FollowerOptions are what a Follower is made of. Managers, Credentials and Applier are required.
type FollowerOptions struct {
	// Managers are the addresses, host:port, that are tried in turn.
	Managers    []string
	Credentials credentials.TransportCredentials
	// Instance tells this process apart from others with its certificate.
	Instance string
	Applier  Applier
	// Keeper is nil where nothing is kept.
	Keeper Keeper
	// Moved is told each time when State has changed, one after the other; nil: nobody is. It must not block.
	Moved func(State)
	// Health is what is told of this boot server at each heartbeat; nil: nothing.
	Health func() *streampb.Health
	// Dial is for tests; nil: TCP.
	Dial   func(context.Context, string) (net.Conn, error)
	Clock  clock.WithTicker
	Logger logr.Logger
}

// Follower follows one of several managers. It is safe for concurrent use.
type Follower struct {
	o FollowerOptions

	mu      sync.Mutex
	state   State
	manager streampb.BootStreamClient // nil: none

	// held and unkept are for Run alone.
	held   *holdings
	unkept unkept
}

// State is how the boot server stands to its managers.
type State struct {
	// Manager is the address of the one that it follows; empty: it follows none.
	Manager string
	// Synced reports whether it has had everything since it started.
	Synced bool
	// Epoch and Counter are how far it has come.
	Epoch   string
	Counter uint64
	// Heard is when a manager last said that nothing is missing; SecretsUntil is until when secrets may be used.
	Heard, SecretsUntil time.Time
	// Records is how many records there are.
	Records int
	// Site is that of the boot server, as its manager says.
	Site string
	// KeepError is why the view on disk is older than the one in use; nil: it is not.
	KeepError error
}

// NewFollower makes a follower that holds nothing.
func NewFollower(o FollowerOptions) *Follower {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
	}
	return &Follower{o: o, held: newHoldings(), unkept: unkept{keeper: o.Keeper, logger: o.Logger}}
}

// Load applies what was kept, before Run. Records that cannot be used are left out, and asked for again.
func (f *Follower) Load(kept Kept) {
	for _, r := range kept.Records {
		if !f.held.news(r.Epoch, r) {
			continue
		}
		if err := f.apply(r); err != nil {
			f.o.Logger.Info("kept record not used", "record", r.Key, "error", err)
			counter := uint64(1) // what it is in the journal of another epoch nobody knows
			if r.Epoch == kept.Progress.epoch() {
				counter = r.Counter
			}
			f.held.refuse(r.Key, counter)
			continue
		}
		f.held.take(r.Epoch, r)
	}
	if p := kept.Progress; p != nil {
		f.held.current(p.Position.GetEpoch(), p.Position.GetCounter(), p.Observed)
		f.update(func(s *State) {
			s.Heard, s.SecretsUntil = p.Heard, p.SecretsUntil
			s.Epoch, s.Counter, s.Records = p.Position.GetEpoch(), p.Position.GetCounter(), f.held.records
		})
	}
}

// apply puts a record into use.
func (f *Follower) apply(r *streampb.Record) error {
	if r.GetDeleted() != nil {
		f.o.Applier.Delete(r.Key)
		return nil
	}
	return f.o.Applier.Apply(r)
}

// State returns how the boot server stands to its managers.
func (f *Follower) State() State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

func (f *Follower) update(change func(*State)) {
	f.mu.Lock()
	change(&f.state)
	state := f.state
	f.mu.Unlock()
	if f.o.Moved != nil {
		f.o.Moved(state)
	}
}

// Connected returns a client of the manager that is followed; nil: none is.
func (f *Follower) Connected() streampb.BootStreamClient {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.manager
}

func (f *Follower) setManager(address string, manager streampb.BootStreamClient) {
	f.update(func(s *State) { f.manager, s.Manager = manager, address })
}

// Run follows one manager after the other until ctx ends. Its error is that of ctx.
func (f *Follower) Run(ctx context.Context) error {
	if len(f.o.Managers) == 0 {
		return errors.New("boot stream: no manager to follow")
	}
	pause := firstPause
	for next := 0; ; next++ {
		address := f.o.Managers[next%len(f.o.Managers)]
		welcomed, err := f.follow(ctx, address)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		level := 1
		if welcomed || next == 0 { // and not again at every attempt
			pause, level = firstPause, 0
		}
		f.o.Logger.V(level).Info("not following the manager", "manager", address, "error", err)
		select {
		case <-f.o.Clock.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, longestPause)
	}
}

// follow follows one manager until that fails, and reports whether it was welcomed.
func (f *Follower) follow(ctx context.Context, address string) (welcomed bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(f.o.Credentials), grpc.WithContextDialer(f.o.Dial),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)),
	)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	client := streampb.NewBootStreamClient(conn)
	stream, err := client.Follow(ctx)
	if err != nil {
		return false, err
	}
	s := &session{Follower: f, stream: stream}
	alarm := f.o.Clock.NewTimer(handshake)
	defer alarm.Stop()
	quiet := make(chan time.Duration, 1)
	done := make(chan struct{})
	defer close(done)
	go func() {
		after := handshake
		for {
			select {
			case after = <-quiet:
				alarm.Reset(after)
			case <-alarm.C():
				cancel(fmt.Errorf("no word from the manager for %s", after))
				return
			case <-done:
				return
			}
		}
	}()
	s.heard = func(d time.Duration) {
		select {
		case quiet <- d:
		default: // it is about to be reset
		}
	}
	err = s.run(address, client)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	f.setManager("", nil)
	return s.welcome != nil, err
}

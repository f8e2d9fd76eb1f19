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
	"google.golang.org/protobuf/proto"
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

// session is one stream to one manager.
type session struct {
	*Follower
	stream  streampb.BootStream_FollowClient
	welcome *streampb.Welcome
	heard   func(next time.Duration)
	// snapshot is under way. deferred are the records of it that wait for its end.
	snapshot bool
	deferred []*streampb.Record
	counter  uint64
}

func (s *session) run(address string, client streampb.BootStreamClient) error {
	hello := &streampb.Hello{Minor: Minor, Instance: s.o.Instance, Held: s.held.resume(), Observed: s.held.observed}
	if err := s.stream.Send(&streampb.FollowRequest{Kind: &streampb.FollowRequest_Hello{Hello: hello}}); err != nil {
		return s.failed(err)
	}
	for {
		m, err := s.stream.Recv()
		if err != nil {
			return err
		}
		if s.welcome == nil && m.GetWelcome() == nil {
			return errors.New("the manager did not begin with a Welcome")
		}
		switch kind := m.Kind.(type) {
		case *streampb.FollowResponse_Welcome:
			if err = s.welcomed(kind.Welcome); err == nil {
				s.setManager(address, client)
			}
		case *streampb.FollowResponse_Changes:
			err = s.changes(kind.Changes)
		case *streampb.FollowResponse_Current:
			err = s.current(kind.Current)
		case *streampb.FollowResponse_Gap:
			s.o.Logger.Info("boot view fell behind, receiving a snapshot", "manager", address)
			s.begin()
		}
		if err != nil {
			return err
		}
		s.heard(silence * s.welcome.Heartbeat.AsDuration())
	}
}

// failed is the error of a stream that could not be written to, which its reader knows.
func (s *session) failed(err error) error {
	if _, recv := s.stream.Recv(); recv != nil {
		return recv
	}
	return err
}

func (s *session) welcomed(w *streampb.Welcome) error {
	if s.welcome != nil {
		return errors.New("the manager sent a second Welcome")
	}
	if w.Snapshot && s.held.older(w.Observed) {
		return ErrOlder
	}
	if w.Heartbeat.AsDuration() <= 0 {
		return errors.New("the manager named no heartbeat")
	}
	s.welcome = w
	s.update(func(state *State) { state.Site = w.Site })
	if w.Snapshot {
		s.begin()
	}
	return nil
}

// begin begins a snapshot.
func (s *session) begin() {
	s.snapshot, s.deferred = true, nil // what was deferred is in this snapshot again
	s.held.begin()
}

// changes puts records into use, keeps them, and acknowledges them.
func (s *session) changes(c *streampb.Changes) error {
	kept := make([]*streampb.Record, 0, len(c.Records))
	ack := &streampb.Ack{}
	for _, encoded := range c.Records {
		r := &streampb.Record{}
		if err := proto.Unmarshal(encoded, r); err != nil || r.Key == "" {
			return fmt.Errorf("the manager sent what is no record: %w", err)
		}
		ack.Counter = r.Counter
		if s.defers(r) {
			s.deferred = append(s.deferred, r)
			continue
		}
		if s.use(r, ack) {
			kept = append(kept, r)
		}
	}
	if len(s.deferred) > 0 { // they are not in use yet
		ack.Counter = min(ack.Counter, s.deferred[0].Counter-1)
	}
	s.unkept.append(kept)
	s.counter = ack.Counter
	s.update(func(state *State) {
		state.Epoch, state.Counter, state.Records, state.KeepError = s.welcome.Epoch, s.counter, s.held.records, s.unkept.err
	})
	return s.acknowledge(ack)
}

// mostDeferred bounds how many records wait for the end of a snapshot.
const mostDeferred = 4096

// defers reports whether a record waits for the end of the snapshot: a machine under a name that is not held. It may be one that is held under another
// name, of an object that is gone, and two names of one machine are a conflict, which boots nothing. Only the end of the snapshot tells.
func (s *session) defers(r *streampb.Record) bool {
	return s.snapshot && r.GetMachine() != nil && s.held.records > 0 && !s.held.has(r.Key) && r.Counter > 0 && len(s.deferred) < mostDeferred
}

// use puts a record into use if it is news, and reports whether it is to be kept. Where it cannot be used, ack says so.
func (s *session) use(r *streampb.Record, ack *streampb.Ack) bool {
	if !s.held.news(s.welcome.Epoch, r) {
		s.held.seen(r.Key)
		return false
	}
	if err := s.apply(r); err != nil {
		s.o.Logger.Info("record refused", "record", r.Key, "error", err)
		ack.Refused = append(ack.Refused, &streampb.Refusal{Key: r.Key, Counter: r.Counter, Reason: err.Error()})
		s.held.refuse(r.Key, r.Counter)
		s.held.seen(r.Key)
		return false
	}
	s.held.take(s.welcome.Epoch, s.from(r))
	return true
}

// from is the record with the epoch that it came from.
func (s *session) from(r *streampb.Record) *streampb.Record {
	r.Epoch = s.welcome.Epoch
	return r
}

func (s *session) acknowledge(ack *streampb.Ack) error {
	return s.stream.Send(&streampb.FollowRequest{Kind: &streampb.FollowRequest_Ack{Ack: ack}})
}

// end ends a snapshot: what was not in it goes, and what waited for that comes into use.
func (s *session) end(c *streampb.Current, ack *streampb.Ack) {
	kept := s.held.absent(c.Counter, c.Observed)
	for _, r := range kept {
		s.o.Applier.Delete(r.Key)
		s.held.take(s.welcome.Epoch, s.from(r))
	}
	for _, r := range s.deferred {
		if s.use(r, ack) {
			kept = append(kept, r)
		}
	}
	s.unkept.append(kept)
	s.snapshot, s.deferred = false, nil
}

// current ends a snapshot, and notes that nothing is missing.
func (s *session) current(c *streampb.Current) error {
	ack := &streampb.Ack{}
	if s.snapshot || s.held.unsure {
		s.end(c, ack)
	}
	now := s.o.Clock.Now()
	s.counter = max(s.counter, c.Counter)
	s.held.current(s.welcome.Epoch, s.counter, c.Observed)
	until := now.Add(c.SecretsFor.AsDuration())
	s.unkept.current(Progress{Position: s.held.resume(), Observed: s.held.observed, Heard: now, SecretsUntil: until})
	first := false
	s.update(func(state *State) {
		first = !state.Synced
		state.Synced, state.Heard, state.SecretsUntil = true, now, until
		state.Epoch, state.Counter = s.welcome.Epoch, s.counter
		state.Records, state.KeepError = s.held.records, s.unkept.err
	})
	if first {
		s.o.Applier.SetSynced(true)
	}
	ack.Counter = s.counter
	if err := s.acknowledge(ack); err != nil || s.o.Health == nil {
		return err
	}
	return s.stream.Send(&streampb.FollowRequest{Kind: &streampb.FollowRequest_Health{Health: s.o.Health()}})
}

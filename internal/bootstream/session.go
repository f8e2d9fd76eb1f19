package bootstream

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

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

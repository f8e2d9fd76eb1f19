package system

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farrier-dev/farrier/test/seed"
)

const (
	// settles is how long managers take at most until everybody has his part, after the last of what disturbs them.
	settles = 75 * time.Second
	// takesOver is how long the shards of a manager that was killed stay with nobody at most.
	takesOver = 30 * time.Second
)

// TestShardsAreNeverSharedAndNeverLost: whatever becomes of managers, nobody acts on what another acts on, or in another division, or during a pause; who
// is killed is replaced in time; and when it is quiet everybody has his part. Another installation in the namespace plays no part.
//
// A seed makes the same disturbances. The pauses that client-go draws by itself are others each time.
func TestShardsAreNeverSharedAndNeverLost(t *testing.T) {
	first := seed.New(t)
	for i := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			store := &leaseStore{}
			s, neighbours := newSharers(t, store, "", first+i), newSharers(t, store, "hall-1", first+i)
			neighbours.begin(4)
			if s.divisions = []int{5, 5, 5, 5, 5, 3, 1, 0}; i%2 == 1 {
				s.divisions = []int{5, 0}
			}
			for range 25 {
				s.disturb()
				time.Sleep(time.Duration(s.upTo(12_000)) * time.Millisecond) // the clock is the test's
				if s.upTo(6) == 0 {
					s.calm()
					neighbours.fair()
				}
				if t.Failed() {
					break
				}
			}
			s.end()
			neighbours.end()
		})
		if t.Failed() {
			t.Fatalf("in history %d", i)
		}
	}
}

// disturb does something to the managers.
func (s *sharers) disturb() {
	if len(s.living) < 2 {
		s.begin(s.division())
		return
	}
	one := s.living[s.upTo(len(s.living))]
	if leader := s.leader(); leader != nil && s.upTo(2) == 0 {
		one = leader // what becomes of him matters most
	}
	lasts := time.Duration(1+s.upTo(40)) * time.Second
	state := []trouble{refuses, hangs, slow, blind, flaky, deaf}[s.upTo(6)]
	switch s.upTo(13) {
	case 0, 1, 2, 3, 4:
		if len(s.living) < 4 {
			s.begin(s.division())
		}
	case 5:
		s.leave(one)
	case 6, 7:
		s.kill(one)
	case 8, 9:
		s.trouble(state, lasts, one)
	case 10:
		s.trouble(state, lasts, s.living...)
	case 11:
		s.pause(lasts)
	case 12: // others come at the same time
		for range len(s.living) {
			s.leave(s.living[0])
			s.begin(s.division())
		}
	}
}

// division is a value of --shards: in most histories most managers agree.
func (s *sharers) division() int {
	return s.divisions[s.upTo(len(s.divisions))]
}

// calm waits until everything is quiet, checks that everybody has his part, and then that a manager which is killed is replaced in time.
func (s *sharers) calm() {
	time.Sleep(40*time.Second + settles) // after the longest trouble
	leader := s.fair()
	same := func(m *sharer) bool { return m.shards == leader.shards }
	if leader == nil || leader.shards == 0 || len(s.living) < 2 || slices.ContainsFunc(s.living, func(m *sharer) bool { return !same(m) }) {
		return
	}
	did := s.kill(s.living[s.upTo(len(s.living))])
	time.Sleep(takesOver)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, number := range did {
		if len(s.of(number)) != 1 {
			s.wrong("%s after its manager was killed, shard %d has %v", takesOver, number, s.of(number))
		}
	}
}

// of are the terms of a shard. The caller holds mu.
func (s *sharers) of(number int) (all []acts) {
	for a := range s.now {
		if a.number == number {
			all = append(all, a)
		}
	}
	return all
}

// fair checks that all shards have terms, that everybody who divides as the leader has his part of them, and nobody else any.
func (s *sharers) fair() *sharer {
	leader := s.leader()
	s.mu.Lock()
	defer s.mu.Unlock()
	if leader == nil {
		if len(s.living) > 0 {
			s.wrong("nobody leads")
		}
		return nil
	}
	count, shares := map[*sharer]int{}, 0
	for a := range s.now {
		count[a.of]++
	}
	for _, m := range s.living {
		if m.shards == leader.shards {
			shares++
		}
	}
	for _, m := range s.living {
		least, most := 0, 0
		switch {
		case leader.shards > 0 && m.shards == leader.shards:
			least, most = leader.shards/shares, (leader.shards+shares-1)/shares
		case leader.shards == 0 && m == leader:
			least, most = 1, 1
		}
		if n := count[m]; n < least || n > most {
			s.wrong("%s of %d has %d shards, and should have %d to %d", m.name, m.shards, n, least, most)
		}
	}
	if all := max(leader.shards, 1); len(s.now) != all {
		s.wrong("%d terms run, and there are %d shards", len(s.now), all)
	}
	return leader
}

// end ends all managers in order, and checks that they leave nothing.
func (s *sharers) end() {
	for len(s.living) > 0 {
		m := s.living[0]
		s.leave(m)
		<-m.ended
	}
	time.Sleep(time.Minute) // those that were killed, and troubles
	if len(s.now) > 0 {
		s.wrong("after the end: %v", s.now)
	}
}

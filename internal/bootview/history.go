package bootview

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/farrier-dev/farrier/internal/cache/bounded"
)

// Bounds of a History. Together they are some 50 MB, of a fleet that boots all the time.
const (
	historyMachines = 1 << 14
	historyAttempts = 4
	historySteps    = 24

	// historyShards is how many locks there are. Machines are spread over them by a hash: one shard is full before all of them are,
	// at some nine tenths of historyMachines.
	historyShards = 32
	shardMachines = historyMachines / historyShards
)

// Step is an answer to a machine, or several like it.
type Step struct {
	Kind   DeliveryKind `json:"kind"`
	What   string       `json:"what,omitempty"`
	Entry  string       `json:"entry,omitempty"`
	Addr   string       `json:"address,omitempty"`
	Status int          `json:"status"`
	// Bytes are those of all of them: of the bodies that were sent, or received.
	Bytes int64     `json:"bytes"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	Count int       `json:"count"`
}

// Boot is what one boot attempt asked for and was given, in the order in which it was first asked for.
type Boot struct {
	Attempt string `json:"attempt,omitempty"`
	Steps   []Step `json:"steps"`
	// Dropped is how many answers came after the record was full.
	Dropped int `json:"dropped,omitempty"`
}

// History records the newest boots of each machine. Its zero value is empty. It is memory alone: what has to
// outlive the process is in conditions.
//
// It stands on the way of every answer, so it is cut into shards, and nobody holds a lock for longer than it takes to look
// through the steps of one boot.
type History struct {
	// OnStep, where set, is told of the first answer of each step. It is set before the first of them, and must not block.
	OnStep func(Delivery)

	shards [historyShards]historyShard
}

type historyShard struct {
	mu       sync.Mutex
	machines bounded.Map[string, *machineHistory]
	// spare is that of the machine that made room last, empty; nil: none did since it was used.
	spare *machineHistory
}

type machineHistory struct{ boots []Boot }

// historySeed spreads machines. Nothing that anybody sees depends on it.
var historySeed = maphash.MakeSeed()

func (h *History) shard(uuid string) *historyShard {
	return &h.shards[maphash.String(historySeed, uuid)%historyShards]
}

// Record adds an answer. It never waits for anything but memory. Answers to nobody in particular are left out.
func (h *History) Record(d Delivery) { h.RecordAll(d, d.Time, 1) }

// RecordAll adds several answers that are alike: d is the last of them, with the bytes of all.
func (h *History) RecordAll(d Delivery, first time.Time, count int) {
	if d.UUID == "" {
		return
	}
	if h.add(d, first, count) && h.OnStep != nil {
		d.Time = first
		h.OnStep(d)
	}
}

func (h *History) add(d Delivery, first time.Time, count int) (news bool) {
	s := h.shard(d.UUID)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.machine(d.UUID).boot(d.Attempt).add(d, first, count)
}

// add reports whether the answer is the first of its step.
func (b *Boot) add(d Delivery, first time.Time, count int) (news bool) {
	// A download in ranges, and a retry, are many answers and one step.
	for i := len(b.Steps) - 1; i >= 0; i-- {
		s := &b.Steps[i]
		if s.Kind == d.Kind && s.Status == d.Status && s.What == d.What && s.Addr == d.Addr && s.Entry == d.Entry {
			s.Last = d.Time
			s.Count += count
			s.Bytes += d.Bytes
			return false
		}
	}
	if len(b.Steps) == historySteps {
		b.Dropped++
		return false
	}
	b.Steps = append(b.Steps, Step{
		Kind: d.Kind, What: d.What, Entry: d.Entry, Addr: d.Addr, Status: d.Status, Bytes: d.Bytes, First: first, Last: d.Time, Count: count,
	})
	return true
}

func (s *historyShard) machine(uuid string) *machineHistory {
	m, known := s.machines.Get(uuid)
	if known {
		return m
	}
	if m, s.spare = s.spare, nil; m == nil {
		m = &machineHistory{}
	}
	// The UUID stands in the middle of a request, all of which would be kept with it.
	if oldest, made := s.machines.Put(strings.Clone(uuid), m, shardMachines); made {
		oldest.empty()
		s.spare = oldest
	}
	return m
}

// empty forgets everything and keeps the room for as many steps as the oldest boot had. A full history has a machine make room for each new
// one, which needs that.
func (m *machineHistory) empty() {
	steps := m.boots[0].Steps
	clear(steps)
	clear(m.boots)
	m.boots[0].Steps = steps[:0]
	m.boots = m.boots[:0]
}

// boot is the record of an attempt; the oldest makes room for a new one.
func (m *machineHistory) boot(attempt string) *Boot {
	for i := range m.boots {
		if m.boots[i].Attempt == attempt {
			return &m.boots[i]
		}
	}
	if len(m.boots) == historyAttempts {
		m.boots = slices.Delete(m.boots, 0, 1)
	}
	m.boots = slices.Grow(m.boots, 1)[:len(m.boots)+1]
	b := &m.boots[len(m.boots)-1]
	*b = Boot{Attempt: attempt, Steps: b.Steps[:0]}
	return b
}

// Boots returns what is recorded of a machine, the newest boot last.
func (h *History) Boots(uuid string) []Boot {
	s := h.shard(uuid)
	s.mu.Lock()
	defer s.mu.Unlock()
	m, known := s.machines.Get(uuid)
	if !known {
		return nil
	}
	boots := slices.Clone(m.boots)
	for i := range boots {
		boots[i].Steps = slices.Clone(boots[i].Steps)
	}
	return boots
}

// Booted reports whether a machine was given something to boot, a script or a file, at or after a time.
func (h *History) Booted(uuid string, since time.Time) bool {
	s := h.shard(uuid)
	s.mu.Lock()
	defer s.mu.Unlock()
	m, known := s.machines.Get(uuid)
	if !known {
		return false
	}
	return slices.ContainsFunc(m.boots, func(b Boot) bool {
		return slices.ContainsFunc(b.Steps, func(step Step) bool {
			return (step.Kind == DeliveredScript || step.Kind.IsFile()) && step.Status == 200 && !step.Last.Before(since)
		})
	})
}

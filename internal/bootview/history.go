package bootview

import (
	"slices"
	"sync"
	"time"
)

// Bounds of a History. Together they are some 50 MB, of a fleet that boots all the time.
const (
	historyMachines = 1 << 14
	historyAttempts = 4
	historySteps    = 24
)

// Step is an answer to a machine, or several like it in a row.
type Step struct {
	Kind   DeliveryKind `json:"kind"`
	Entry  string       `json:"entry,omitempty"`
	Addr   string       `json:"address,omitempty"`
	Status int          `json:"status"`
	First  time.Time    `json:"first"`
	Last   time.Time    `json:"last"`
	Count  int          `json:"count"`
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
type History struct {
	mu       sync.Mutex
	machines map[string]*machineHistory
	// order has every machine once, the one that began to be recorded first in front.
	order []string
}

type machineHistory struct{ boots []Boot }

// Record adds an answer. It never waits for anything but memory. Answers to nobody in particular are left out.
func (h *History) Record(d Delivery) {
	if d.UUID == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	boot := h.machine(d.UUID).boot(d.Attempt)
	// A download in ranges, and a retry, are many answers and one step.
	for i := len(boot.Steps) - 1; i >= 0; i-- {
		s := &boot.Steps[i]
		if s.Kind == d.Kind && s.Addr == d.Addr && s.Status == d.Status && s.Entry == d.Entry {
			s.Last = d.Time
			s.Count++
			return
		}
	}
	if len(boot.Steps) == historySteps {
		boot.Dropped++
		return
	}
	boot.Steps = append(boot.Steps, Step{Kind: d.Kind, Entry: d.Entry, Addr: d.Addr, Status: d.Status, First: d.Time, Last: d.Time, Count: 1})
}

func (h *History) machine(uuid string) *machineHistory {
	if m := h.machines[uuid]; m != nil {
		return m
	}
	if h.machines == nil {
		h.machines = make(map[string]*machineHistory)
	}
	if len(h.order) == historyMachines {
		delete(h.machines, h.order[0])
		h.order = slices.Delete(h.order, 0, 1)
	}
	m := &machineHistory{}
	h.machines[uuid], h.order = m, append(h.order, uuid)
	return m
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
	m.boots = append(m.boots, Boot{Attempt: attempt})
	return &m.boots[len(m.boots)-1]
}

// Boots returns what is recorded of a machine, the newest boot last.
func (h *History) Boots(uuid string) []Boot {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.machines[uuid]
	if m == nil {
		return nil
	}
	boots := slices.Clone(m.boots)
	for i := range boots {
		boots[i].Steps = slices.Clone(boots[i].Steps)
	}
	return boots
}

package bootview

import (
	"iter"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/farrier-dev/farrier/internal/cache/bounded"
	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/inbound/ratelimit"
	"github.com/farrier-dev/farrier/internal/printable"
)

// Bounds of what is remembered of unknown machines: some megabytes. A host that invents machines takes only the places of its own.
const (
	maxUnknownHosts = 256
	maxUnknownThere = 16
	maxUnaddressed  = 1024
	maxUnknownText  = 64
	// unknownSaidFor is how long a machine that goes on asking is nothing new.
	unknownSaidFor = time.Hour
	// unknownKeptFor is how long after it asked last a machine is listed.
	unknownKeptFor = 24 * time.Hour
)

// UnknownMachine is a machine that asked what to boot while there was nothing for it, as it says itself who it is.
type UnknownMachine struct {
	Address string `json:"address"`
	UUID    string `json:"uuid,omitempty"`
	MAC     string `json:"mac,omitempty"`
	Serial  string `json:"serial,omitempty"`
	// Architecture is that of its firmware, where it asked over DHCP.
	Architecture string `json:"architecture,omitempty"`
	// Path is what it asked for last.
	Path  string    `json:"path"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	Times int       `json:"times"`

	said time.Time
}

func (m *UnknownMachine) is(o *UnknownMachine) bool {
	return m.Address == o.Address && m.UUID == o.UUID && m.MAC == o.MAC && m.Serial == o.Serial
}

// kept is m without the requests that its texts are cut from.
func (m UnknownMachine) kept() UnknownMachine {
	for _, text := range []*string{&m.Address, &m.UUID, &m.MAC, &m.Serial, &m.Path, &m.Architecture} {
		*text = strings.Clone(*text)
	}
	return m
}

// UnknownMachines are those that asked last, in bounded memory. The zero value is empty.
type UnknownMachines struct {
	mu sync.Mutex
	by bounded.Map[netip.Addr, *[]UnknownMachine]
	// unaddressed are those that asked over DHCP, before they have an address: by MAC. They push out nobody who has one.
	unaddressed bounded.Map[string, *[]UnknownMachine]
}

// there are the machines of the host that m asks from.
func (u *UnknownMachines) there(m UnknownMachine) *[]UnknownMachine {
	if m.Address == "" && m.MAC != "" {
		return placeOf(&u.unaddressed, m.kept().MAC, maxUnaddressed)
	}
	return placeOf(&u.by, hostOf(m.Address), maxUnknownHosts)
}

func placeOf[K comparable](by *bounded.Map[K, *[]UnknownMachine], key K, most int) *[]UnknownMachine {
	there, _ := by.Get(key)
	if there == nil {
		there = &[]UnknownMachine{}
		by.Put(key, there, most)
	}
	return there
}

// Note remembers that a machine asked. First and Times are what somebody else remembers of it; zero: nobody does. It returns the machine as it is kept, and reports whether that is worth saying: it has not been said
// lately.
func (u *UnknownMachines) Note(m UnknownMachine, now time.Time) (noted UnknownMachine, news bool) {
	for _, text := range []*string{&m.Address, &m.UUID, &m.MAC, &m.Serial, &m.Path, &m.Architecture} {
		*text = printable.Short(*text, maxUnknownText)
	}
	if canonical, err := identity.UUID(m.UUID); err == nil {
		m.UUID = canonical
	}
	first, times := m.First, m.Times
	if first.IsZero() || first.After(now) {
		first = now
	}
	m.First, m.Times = first, 0
	u.mu.Lock()
	defer u.mu.Unlock()
	there := u.there(m)
	at := slices.IndexFunc(*there, func(o UnknownMachine) bool { return o.is(&m) })
	if at < 0 {
		m = m.kept()
		if len(*there) < maxUnknownThere {
			*there, at = append(*there, m), len(*there)
		} else {
			at = oldest(*there)
			if replaced := (*there)[at]; now.Sub(replaced.Last) < unknownSaidFor {
				m.said = now // so many at once are said of by those that are listed
			}
			(*there)[at] = m
		}
	}
	known := &(*there)[at]
	if known.Path != m.Path {
		known.Path = strings.Clone(m.Path)
	}
	if known.Architecture != m.Architecture {
		known.Architecture = strings.Clone(m.Architecture)
	}
	if first.Before(known.First) {
		known.First = first
	}
	known.Last, known.Times = now, max(known.Times+1, times)
	if news = known.said.IsZero() || now.Sub(known.said) >= unknownSaidFor; news {
		known.said = now
	}
	return *known, news
}

// List returns those that asked within the last day, the last one first.
func (u *UnknownMachines) List(now time.Time) []UnknownMachine {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []UnknownMachine
	for _, places := range []iter.Seq[*[]UnknownMachine]{u.by.Values(), u.unaddressed.Values()} {
		for there := range places {
			for _, m := range *there {
				if now.Sub(m.Last) < unknownKeptFor {
					all = append(all, m)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b UnknownMachine) int {
		if order := b.Last.Compare(a.Last); order != 0 {
			return order
		}
		return strings.Compare(a.Address+a.UUID+a.MAC+a.Serial, b.Address+b.UUID+b.MAC+b.Serial)
	})
	return all
}

func oldest(machines []UnknownMachine) int {
	at := 0
	for i := range machines {
		if machines[i].Last.Before(machines[at].Last) {
			at = i
		}
	}
	return at
}

// hostOf stands for all addresses of one host; invalid for what is no address.
func hostOf(address string) netip.Addr {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Addr{}
	}
	return ratelimit.HostOf(a)
}

package bootserver

import (
	"hash/maphash"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/cache/bounded"
)

// How long an address stands for the machine that has fetched its script from there, and how long what was asked for before a script
// waits for one: longer than a download over a slow line, and than firmware takes from one program to the next.
const (
	scriptHolds    = 30 * time.Minute
	earlierAnswers = 10 * time.Minute
)

// Bounds of callers: some 8 MB, when as many machines as that boot within half an hour.
const (
	callerShards = 32
	shardCallers = 512
	maxEarlier   = 2 // a boot program and the chainload script
)

// callers remembers which machine has asked for its script from which address. A request for a chainload script or for an artifact says
// only where it comes from, and while a machine is under discovery nobody has told its address yet. It is for the record; nothing
// is given to anybody because of it, but that a machine which has not fetched its file has not booted it. The zero value is ready.
type callers struct{ shards [callerShards]callerShard }

type callerShard struct {
	mu sync.Mutex
	by bounded.Map[string, *calledFrom]
}

// calledFrom is one address.
type calledFrom struct {
	// machine has asked for its script; nil: none of the boot view has. One that has named itself is told by uuid and entry instead.
	machine     *bootview.Machine
	uuid, entry string
	at          time.Time // when it has
	// earlier are answers that nobody is known for yet, at most maxEarlier.
	earlier []Delivery
	// file is the last element of the path of the file that firmware fetched last, and fileAt when.
	file   string
	fileAt time.Time
}

var callerSeed = maphash.MakeSeed()

func (c *callers) shard(addr string) *callerShard {
	return &c.shards[maphash.String(callerSeed, addr)%callerShards]
}

// from is what is known of an address, of which something is about to be known.
func (s *callerShard) from(addr string) *calledFrom {
	found, known := s.by.Get(addr)
	if !known {
		found = &calledFrom{}
		s.by.Put(addr, found, shardCallers)
	}
	return found
}

// asked is who has asked for a script from there, not long ago: a machine of the boot view, or one that has named itself, by its UUID and
// the entry of its script; neither: nobody.
func (c *callers) asked(addr string, now time.Time) (m *bootview.Machine, uuid, entry string) {
	s := c.shard(addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	found, known := s.by.Get(addr)
	if !known || now.Sub(found.at) >= scriptHolds {
		return nil, "", ""
	}
	return found.machine, found.uuid, found.entry
}

// fetchesFile says that a file was fetched from there.
func (c *callers) fetchesFile(addr, url string, now time.Time) {
	s := c.shard(addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.from(addr)
	found.file, found.fileAt = strings.Clone(path.Base(url)), now
}

// hasFile reports whether the file of that URL was the last that was fetched from there, not long ago.
func (c *callers) hasFile(addr, url string, now time.Time) bool {
	s := c.shard(addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	found, known := s.by.Get(addr)
	return known && found.file != "" && found.file == path.Base(url) && now.Sub(found.fileAt) < scriptHolds
}

// wait keeps an answer until it is known whose it was.
func (c *callers) wait(d Delivery) {
	s := c.shard(d.Addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.from(d.Addr)
	for i := range found.earlier {
		if e := &found.earlier[i]; e.Kind == d.Kind && e.Status == d.Status && e.What == d.What {
			*e = d // asked for again; the last one led on
			return
		}
	}
	if len(found.earlier) == maxEarlier {
		found.earlier = slices.Delete(found.earlier, 0, 1)
	}
	found.earlier = append(found.earlier, d)
}

// isAt says that a machine asks for its script from there. It returns what was asked for before, oldest first.
func (c *callers) isAt(addr string, m *bootview.Machine, now time.Time) (earlier []Delivery) {
	s := c.shard(addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.from(addr)
	found.machine, found.uuid, found.entry = m, "", ""
	return found.asks(now)
}

// namedAt is isAt for a machine that has named itself by its UUID, whose script is that of the entry.
func (c *callers) namedAt(addr, uuid, entry string, now time.Time) (earlier []Delivery) {
	s := c.shard(addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.from(addr)
	if found.uuid != uuid {
		found.uuid = strings.Clone(uuid) // it stands in the middle of a request
	}
	found.machine, found.entry = nil, entry
	return found.asks(now)
}

// asks notes when whoever is there has asked for a script, and returns what was asked for before.
func (f *calledFrom) asks(now time.Time) (earlier []Delivery) {
	earlier, f.earlier, f.at = f.earlier, nil, now
	return slices.DeleteFunc(earlier, func(d Delivery) bool { return now.Sub(d.Time) >= earlierAnswers })
}

package bootserver

import (
	"hash/maphash"
	"path"
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
	by bounded.Map[string, calledFrom]
}

// calledFrom is one address.
type calledFrom struct {
	machine *bootview.Machine // nil: it has not asked for a script
	at      time.Time         // when it has
	// earlier are answers that nobody is known for yet.
	earlier [maxEarlier]Delivery
	n       int
	// file is the last element of the path of the file that firmware fetched last, and fileAt when.
	file   string
	fileAt time.Time
}

var callerSeed = maphash.MakeSeed()

func (c *callers) shard(addr string) *callerShard {
	return &c.shards[maphash.String(callerSeed, addr)%callerShards]
}

// machine is who has asked for a script from there, not long ago; nil: nobody.
func (c *callers) machine(addr string, now time.Time) *bootview.Machine {
	s := c.shard(addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, _ := s.by.Get(addr); found.machine != nil && now.Sub(found.at) < scriptHolds {
		return found.machine
	}
	return nil
}

// fetchesFile says that a file was fetched from there.
func (c *callers) fetchesFile(addr, url string, now time.Time) {
	s := c.shard(addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	found, _ := s.by.Get(addr)
	found.file, found.fileAt = strings.Clone(path.Base(url)), now
	s.by.Put(addr, found, shardCallers)
}

// hasFile reports whether the file of that URL was the last that was fetched from there, not long ago.
func (c *callers) hasFile(addr, url string, now time.Time) bool {
	s := c.shard(addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	found, _ := s.by.Get(addr)
	return found.file != "" && found.file == path.Base(url) && now.Sub(found.fileAt) < scriptHolds
}

// wait keeps an answer until it is known whose it was.
func (c *callers) wait(d Delivery) {
	s := c.shard(d.Addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	found, _ := s.by.Get(d.Addr)
	for i := range found.n {
		if e := &found.earlier[i]; e.Kind == d.Kind && e.Status == d.Status && e.What == d.What {
			*e = d // asked for again; the last one led on
			s.by.Put(d.Addr, found, shardCallers)
			return
		}
	}
	if found.n == maxEarlier {
		copy(found.earlier[:], found.earlier[1:])
		found.n--
	}
	found.earlier[found.n] = d
	found.n++
	s.by.Put(d.Addr, found, shardCallers)
}

// isAt says that a machine asks for its script from there. It returns what was asked for before, oldest first, and how many those are.
func (c *callers) isAt(addr string, m *bootview.Machine, now time.Time) (earlier [maxEarlier]Delivery, n int) {
	s := c.shard(addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	found, _ := s.by.Get(addr)
	for _, d := range found.earlier[:found.n] {
		if now.Sub(d.Time) < earlierAnswers {
			earlier[n] = d
			n++
		}
	}
	s.by.Put(addr, calledFrom{machine: m, at: now, file: found.file, fileAt: found.fileAt}, shardCallers)
	return earlier, n
}

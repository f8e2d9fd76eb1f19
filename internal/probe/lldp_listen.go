package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// How LLDP is listened to when nothing else is said. Switches send every 30 s (IEEE 802.1AB
// §9.2.5.7, msgTxInterval).
const (
	DefaultLLDPInterval = 5 * time.Second
	DefaultLLDPDuration = 30 * time.Second

	maxFrame     = 2048
	maxNeighbors = 16 // on one link; a hub in between has a few
)

// frames is where LLDP frames come from.
type frames interface {
	// Join makes a link deliver what is sent to the addresses of LLDP.
	Join(link int) error
	// Read waits a moment for one frame; os.ErrDeadlineExceeded says that none came.
	Read(buf []byte) (n, link int, err error)
	Close() error
}

// Listener hears the neighbours of this machine. It listens once, at the first report, and
// remembers: neighbours do not change while a probe runs.
type Listener struct {
	// Interval is how often links are looked for that have come up. Zero:
	// DefaultLLDPInterval.
	Interval time.Duration
	// Duration is how long to listen at most; it ends early when every link that is
	// up has a neighbour. Zero: DefaultLLDPDuration. Negative: not at all.
	Duration time.Duration
	Clock    clock.PassiveClock
	Logger   logr.Logger

	open func() (frames, error) // nil: a packet socket

	mu    sync.Mutex
	done  bool
	heard inspection.LLDP
}

// linkState is a link of which frames are of interest.
type linkState struct {
	name string
	up   bool
}

// Hear returns what was heard on each link. A machine on which listening is not possible
// has no neighbours.
func (l *Listener) Hear(ctx context.Context, links func() map[int]linkState) inspection.LLDP {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done || l.Duration < 0 {
		return l.heard
	}
	if l.Clock == nil {
		l.Clock = clock.RealClock{}
	}
	heard, err := l.listen(ctx, links)
	if ctx.Err() != nil {
		return heard // the next report tries again
	}
	if err != nil {
		l.Logger.Info("not listening for LLDP", "error", err)
	}
	l.done, l.heard = true, heard
	return heard
}

func (l *Listener) listen(ctx context.Context, links func() map[int]linkState) (inspection.LLDP, error) {
	open := l.open
	if open == nil {
		open = openPackets
	}
	source, err := open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = source.Close() }()

	e := ear{joined: map[int]bool{}, of: map[int][]inspection.Neighbor{}}
	start := l.Clock.Now()
	var looked time.Time
	buf := make([]byte, maxFrame)
	for ctx.Err() == nil && l.Clock.Since(start) < cmp.Or(l.Duration, DefaultLLDPDuration) {
		if looked.IsZero() || l.Clock.Since(looked) >= cmp.Or(l.Interval, DefaultLLDPInterval) {
			looked = l.Clock.Now()
			if e.join(source, links()); e.content() {
				break
			}
		}
		n, link, err := source.Read(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if err != nil {
			return e.result(), fmt.Errorf("read: %w", err)
		}
		neighbor, gone, err := parseLLDP(buf[:n])
		if err != nil {
			l.Logger.V(1).Info("LLDP frame not decoded", "link", e.links[link].name, "error", err)
			continue
		}
		if e.hear(link, neighbor, gone); e.content() {
			break
		}
	}
	return e.result(), nil
}

// ear is what was heard so far.
type ear struct {
	links  map[int]linkState
	joined map[int]bool
	of     map[int][]inspection.Neighbor
}

func (e *ear) join(source frames, links map[int]linkState) {
	e.links = links
	for i, link := range links {
		// A link that refuses now may be ready at the next look.
		if link.up && !e.joined[i] && source.Join(i) == nil {
			e.joined[i] = true
		}
	}
}

func (e *ear) hear(link int, n inspection.Neighbor, gone bool) {
	if _, ours := e.links[link]; !ours {
		return
	}
	list := slices.DeleteFunc(e.of[link], func(old inspection.Neighbor) bool {
		return old.ChassisID == n.ChassisID && old.PortID == n.PortID
	})
	if !gone && len(list) < maxNeighbors {
		list = append(list, n)
	}
	e.of[link] = list
}

// content says that nothing more is to be expected: every link that is up has a
// neighbour. A machine without such links may yet get one.
func (e *ear) content() bool {
	some := false
	for i, link := range e.links {
		if link.up && len(e.of[i]) == 0 {
			return false
		}
		some = some || link.up
	}
	return some
}

func (e *ear) result() inspection.LLDP {
	var out inspection.LLDP
	for i, list := range e.of {
		if len(list) > 0 {
			out = append(out, inspection.LLDPInterface{Name: e.links[i].name, Neighbors: list})
		}
	}
	slices.SortFunc(out, func(a, b inspection.LLDPInterface) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

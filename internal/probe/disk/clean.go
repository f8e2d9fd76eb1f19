package disk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// Options say how a machine is cleaned. The zero Options are good.
type Options struct {
	Logger logr.Logger
	Clock  clock.Clock
	// Parallel is how many groups of disks are wiped at once. Zero: 8.
	Parallel int
	// Poll is the pause between two looks at an operation that runs in a disk. Zero:
	// two seconds.
	Poll time.Duration
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Parallel <= 0 {
		o.Parallel = defaultParallel
	}
	if o.Poll <= 0 {
		o.Poll = defaultPoll
	}
	return o
}

// ErrNotPermitted says that nobody ordered this machine to be wiped.
var ErrNotPermitted = errors.New("no order to wipe this machine's disks")

// Clean wipes all disks that are not exempt, and returns a record of every disk, in
// the order in which the source lists them. The error is about all of them: there is
// no mandate, or the disks cannot be listed. What went wrong with one disk is in its
// record.
func Clean(ctx context.Context, m inspection.Mandate, src Source, opts Options) ([]inspection.DiskCleanup, error) {
	if !m.Permits() {
		return nil, ErrNotPermitted
	}
	disks, err := src.Disks(ctx)
	if err != nil {
		return nil, fmt.Errorf("list disks: %w", err)
	}
	opts = opts.withDefaults()
	c := cleaner{Options: opts, src: src, mode: m.Mode(), records: make([]inspection.DiskCleanup, len(disks))}
	free := make(chan struct{}, opts.Parallel)
	var running sync.WaitGroup
	for _, g := range groups(disks) {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			c.group(ctx, disks, g)
		})
	}
	running.Wait()
	return c.records, nil
}

// group is the positions of disks that share something. whole says that none of
// them is exempt.
type group struct {
	members []int
	whole   bool
}

func groups(disks []Disk) []*group {
	byName := map[string]*group{}
	var out []*group
	for i, d := range disks {
		g := byName[d.Group]
		if g == nil || d.Group == "" {
			g = &group{whole: true}
			byName[d.Group] = g
			out = append(out, g)
		}
		g.members = append(g.members, i)
		g.whole = g.whole && exempt(d) == ""
	}
	return out
}

type cleaner struct {
	Options
	src     Source
	mode    inspection.CleanMode
	records []inspection.DiskCleanup // each written by the one goroutine that has its group
}

// group wipes disks that share a controller. All of them are sampled before the first
// is wiped: what erases one may erase all.
func (c *cleaner) group(ctx context.Context, disks []Disk, g *group) {
	sessions, whole := map[int]*session{}, g.whole
	for _, i := range g.members {
		s := c.session(disks[i])
		if why := exempt(disks[i]); why != "" {
			s.notes = []string{why}
			s.log.Info("disk left alone", "message", why)
			c.records[i] = s.record(inspection.CleanedExempt)
			continue
		}
		err := sameMedium(disks, i)
		if err == nil {
			err = s.prepare(ctx, c.src)
		}
		if err != nil {
			whole = false
			c.records[i] = s.finish(err)
			continue
		}
		sessions[i] = s
	}
	var done erasure
	for _, i := range g.members {
		if s := sessions[i]; s != nil {
			c.records[i] = c.wipe(ctx, s, whole, &done)
		}
	}
}

func (c *cleaner) session(d Disk) *session {
	log := c.Logger.WithValues("disk", d.Path, "serial", d.Serial)
	return &session{disk: d, mode: c.mode, log: log, clock: c.Clock, poll: c.Poll, started: c.Clock.Now(), method: MethodNone}
}

func (c *cleaner) wipe(ctx context.Context, s *session, whole bool, done *erasure) inspection.DiskCleanup {
	limit := allowance(s.mode, s.dev.Size())
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done within %s", limit))
	defer cancel()
	return s.finish(s.wipe(ctx, whole, done))
}

// Intent is what Clean would do to one disk.
type Intent struct {
	Disk Disk
	// Exempt says why the disk would be left alone; empty: it would not.
	Exempt string
	// Methods are what would be tried, in order.
	Methods []Method
	Notes   []string
	// Err says why the disk cannot even be looked at.
	Err error
}

// Survey says what Clean would do. It writes nothing and needs no mandate.
func Survey(ctx context.Context, src Source, mode inspection.CleanMode) ([]Intent, error) {
	if err := checkMode(mode); err != nil {
		return nil, err
	}
	disks, err := src.Disks(ctx)
	if err != nil {
		return nil, fmt.Errorf("list disks: %w", err)
	}
	out := make([]Intent, len(disks))
	for _, g := range groups(disks) {
		for _, i := range g.members {
			out[i] = survey(ctx, src, disks, i, mode, g.whole)
		}
	}
	return out, nil
}

func survey(ctx context.Context, src Source, disks []Disk, i int, mode inspection.CleanMode, whole bool) Intent {
	d := disks[i]
	it := Intent{Disk: d, Exempt: exempt(d)}
	if it.Exempt != "" {
		return it
	}
	if it.Err = sameMedium(disks, i); it.Err != nil {
		return it
	}
	dev, err := src.Inspect(ctx, d)
	if err != nil {
		it.Err = err
		return it
	}
	defer func() { _ = dev.Close() }()
	f, notes := learn(ctx, d, dev)
	it.Methods, it.Notes = methods(mode, d, f, whole)
	it.Notes = append(notes, it.Notes...)
	return it
}

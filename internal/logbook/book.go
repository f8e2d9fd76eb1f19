package logbook

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/cache/bounded"
)

const (
	// maxEntries bounds the entries in memory, for all machines together.
	maxEntries = 1 << 17
	// maxQueue bounds those that wait for the disk.
	maxQueue = 1 << 12
	// maxRead bounds those that are read about one machine: the newest.
	maxRead = 1 << 12
)

// Options say how a Book is kept.
type Options struct {
	// Directory is where segments are; empty: nothing outlives the process.
	Directory string
	Clock     clock.PassiveClock
	Logger    logr.Logger

	// segment and segments bound the files: bytes of each, and how many; zero: the usual.
	segment, segments int64
	entries           int
}

// Book is a logbook. It is a prometheus.Collector of what it had to drop.
type Book struct {
	options Options
	queue   chan Entry
	// reading is held by whoever reads the disk.
	reading chan struct{}

	words               *bounded.Words
	unqueued, unwritten atomic.Uint64
	dropped             *prometheus.Desc

	mu      sync.RWMutex
	entries ring
	lastID  int64
}

// New makes a Book. Entries reach its directory while Run runs.
func New(o Options) *Book {
	if o.segment == 0 {
		o.segment = segmentBytes
	}
	if o.segments == 0 {
		o.segments = maxSegments
	}
	if o.entries == 0 {
		o.entries = maxEntries
	}
	b := &Book{options: o, reading: make(chan struct{}, 1), words: bounded.NewWords(maxWords), entries: ring{limit: o.entries}}
	b.dropped = prometheus.NewDesc("farrier_logbook_dropped_total", "Entries of the logbook that are not on disk: the queue was full, or the disk did not take them.", []string{"reason"}, nil)
	if o.Directory != "" {
		b.queue = make(chan Entry, maxQueue)
	}
	return b
}

// Write adds an entry. It never waits for anything but memory. A nil Book writes nothing.
func (b *Book) Write(e Entry) {
	if b == nil {
		return
	}
	e = e.kept(b.words)
	b.mu.Lock()
	defer b.mu.Unlock() // until it is queued, so that files have the order of memory
	if e.Time.IsZero() {
		e.Time = b.options.Clock.Now()
	}
	e.ID = max(b.options.Clock.Now().UnixNano(), b.lastID+1)
	b.lastID = e.ID
	b.entries.add(&e)
	if b.queue == nil {
		return
	}
	select {
	case b.queue <- e:
	default:
		b.unqueued.Add(1)
	}
}

// Read returns the newest entries about any of the subjects, the oldest first: those in memory, and before them those on disk.
func (b *Book) Read(ctx context.Context, subjects ...string) []Entry {
	if b == nil {
		return nil
	}
	recent, first := b.recent(subjects)
	older := b.stored(ctx, subjects, first)
	all := append(older, recent...)
	return all[max(0, len(all)-maxRead):]
}

// recent are those in memory, and the ID of the oldest entry there.
func (b *Book) recent(subjects []string) (found []Entry, first int64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.entries.about(subjects)
}

// Describe implements prometheus.Collector.
func (b *Book) Describe(ch chan<- *prometheus.Desc) { ch <- b.dropped }

// Collect implements prometheus.Collector.
func (b *Book) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(b.dropped, prometheus.CounterValue, float64(b.unqueued.Load()), "queue")
	ch <- prometheus.MustNewConstMetric(b.dropped, prometheus.CounterValue, float64(b.unwritten.Load()), "disk")
}

package bmcreset

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bmc/bmcssh"
)

const (
	// workers is how many BMCs are reset at the same time. It is rare, and one takes seconds.
	workers = 4
	// maxQueue bounds what waits.
	maxQueue = 1024
	// defaultTimeout is for all of a reset. BMCs take seconds to make keys, and those that are ill more.
	defaultTimeout = time.Minute
	// kept is how long a result is remembered.
	kept = time.Hour
)

// ErrQueueFull says that too many resets wait.
var ErrQueueFull = errors.New("too many resets over SSH are queued")

// Worker resets BMCs, a few at a time.
type Worker struct {
	// Wake is told the Name of a Request that has a Result. It must not block.
	Wake func(name string)
	// Clock tells when results are forgotten, and Timeout how long a reset may take; both have defaults.
	Clock   clock.PassiveClock
	Timeout time.Duration

	once    sync.Once
	queue   chan Request
	mu      sync.Mutex
	results map[string]*Result // nil: not ended
	resets  *prometheus.CounterVec
}

// What became of resets, in the metric.
const (
	outcomeDone    = "done"
	outcomeFailed  = "failed"
	outcomeUnknown = "host-key-unknown"
	outcomeChanged = "host-key-changed"
)

func outcome(err error) string {
	key, unaccepted := errors.AsType[*bmcssh.HostKeyError](err)
	switch {
	case err == nil:
		return outcomeDone
	case unaccepted && key.Changed:
		return outcomeChanged
	case unaccepted:
		return outcomeUnknown
	}
	return outcomeFailed
}

// Describe implements prometheus.Collector.
func (w *Worker) Describe(ch chan<- *prometheus.Desc) {
	w.setup()
	w.resets.Describe(ch)
}

// Collect implements prometheus.Collector.
func (w *Worker) Collect(ch chan<- prometheus.Metric) {
	w.setup()
	w.resets.Collect(ch)
}

func (w *Worker) setup() {
	w.once.Do(func() {
		w.queue, w.results = make(chan Request, maxQueue), map[string]*Result{}
		w.resets = prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "farrier_bmc_ssh_resets_total",
			Help: "Resets of BMCs over SSH by outcome. With host-key-unknown and host-key-changed no password was sent.",
		}, []string{"outcome"})
		for _, o := range []string{outcomeDone, outcomeFailed, outcomeUnknown, outcomeChanged} {
			w.resets.WithLabelValues(o)
		}
		if w.Clock == nil {
			w.Clock = clock.RealClock{}
		}
		if w.Timeout == 0 {
			w.Timeout = defaultTimeout
		}
	})
}

// Submit queues a request. It never blocks, and does nothing for an ID that it knows.
func (w *Worker) Submit(r Request) error {
	w.setup()
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, result := range w.results {
		if result != nil && w.Clock.Since(result.End) > kept {
			delete(w.results, id)
		}
	}
	if _, known := w.results[r.ID]; known {
		return nil
	}
	select {
	case w.queue <- r:
		w.results[r.ID] = nil
		return nil
	default:
		return ErrQueueFull
	}
}

// Result returns what came of a request; false: not ended, or not known.
func (w *Worker) Result(id string) (Result, bool) {
	w.setup()
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.results[id]; r != nil {
		return *r, true
	}
	return Result{}, false
}

// Start works until ctx ends and all workers have. It is a manager.Runnable.
func (w *Worker) Start(ctx context.Context) error {
	w.setup()
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case r := <-w.queue:
					w.do(ctx, r)
				}
			}
		})
	}
	running.Wait()
	return nil
}

func (w *Worker) do(ctx context.Context, r Request) {
	ctx, cancel := context.WithTimeout(ctx, w.Timeout)
	defer cancel()
	err := reset(ctx, r)
	w.resets.WithLabelValues(outcome(err)).Inc()
	w.mu.Lock()
	w.results[r.ID] = &Result{End: w.Clock.Now(), Err: err}
	w.mu.Unlock()
	if w.Wake != nil {
		w.Wake(r.Name)
	}
}

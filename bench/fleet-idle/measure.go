package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/bench/internal/site"
	"github.com/farrier-dev/farrier/internal/sim"
)

const (
	// scrapeShare is the least time between two questions to the manager, in answers: an answer counts all BMCs.
	scrapeShare = 20
	// tellEvery is the time between two lines that say how far the manager is.
	tellEvery = 5 * time.Minute
)

// findings are what is printed and kept.
type findings struct {
	Healthy int `json:"healthy"`
	// FirstLook is how long it took until all healthy BMCs were observed, and Available until their Servers were.
	FirstLook    time.Duration `json:"firstLookNanoseconds"`
	Available    time.Duration `json:"availableNanoseconds"`
	FirstLookCPU time.Duration `json:"firstLookCPUNanoseconds"`
	// FirstRequests is what a healthy BMC is asked until then.
	FirstRequests float64    `json:"firstRequestsPerBMC"`
	Each          []interval `json:"intervals"`

	CPUShare float64 `json:"cores"` // over all intervals
	RSS      int64   `json:"rssBytes"`
	PeakRSS  int64   `json:"peakRSSBytes"` // the first look included
	// Again is what a manager costs that starts where everything is there already, as after an update: all BMCs are
	// met at once then, and all objects read at once.
	Again again `json:"restarted"`
	// Of healthy BMCs over all intervals:
	RequestsMean   float64 `json:"requestsPerBMCAndInterval"`
	RequestsMost   float64 `json:"requestsPerBMCAndIntervalMost"`
	MaxRequests    int     `json:"requestsAtATimePerBMC"`
	MaxConnections int     `json:"connectionsAtATimePerBMC"`
	MaxLogins      int     `json:"loginsPerBMCMost"`
	HangingLooks   float64 `json:"requestsPerHangingBMCAndInterval"`
	Failing        int     `json:"othersKnownToFail"`
	Others         int     `json:"others"`
	// SlowestScrape is how long the manager took at most to answer with its metrics, while it met its BMCs and later.
	SlowestScrape time.Duration `json:"slowestScrapeNanoseconds"`
}

// interval is one poll interval.
type interval struct {
	// Observed are the healthy BMCs that answered within it, as the rack saw it.
	Observed int     `json:"healthyObserved"`
	CPUShare float64 `json:"cores"`
	RSS      int64   `json:"rssBytes"` // the most that was seen
}

// again is a restart of the manager.
type again struct {
	Observed time.Duration `json:"allObservedNanoseconds"`
	CPU      time.Duration `json:"cpuNanoseconds"`
	PeakRSS  int64         `json:"peakRSSBytes"`
	// Writes are what it wrote to the API, of BMCs and Servers.
	Writes int `json:"writes"`
}

type bench struct {
	config
	folder  string
	rack    *child.Process
	api     *site.API
	manager *manager
	found   findings
}

func measure(ctx context.Context, c config) (_ findings, err error) {
	b := &bench{config: c}
	for _, kind := range c.behaviours() {
		if kind == healthy {
			b.found.Healthy++
		}
	}
	b.found.Others = c.BMCs - b.found.Healthy
	if b.folder, err = os.MkdirTemp("", "fleet-idle-"); err != nil {
		return findings{}, err
	}
	defer func() { _ = os.RemoveAll(b.folder) }()
	if err := b.start(ctx); err != nil {
		return findings{}, err
	}
	if err := b.measure(ctx); err != nil {
		return findings{}, err
	}
	return b.found, errors.Join(b.manager.process.Stop(), b.api.Process.Stop(), b.rack.Stop())
}

// start starts the three processes, the manager last: what is measured of it begins with everything there.
func (b *bench) start(ctx context.Context) (err error) {
	if err := b.binaries.Build(ctx, b.folder); err != nil {
		return err
	}
	if b.rack, err = child.Start(ctx, roleRack); err != nil {
		return err
	}
	var rack rackAnswer
	if err := b.rack.Ask(rackRequest{Config: &b.config}, &rack); err != nil {
		return err
	}
	if b.api, err = site.StartAPI(ctx, b.binaries.API, b.folder, ""); err != nil {
		return err
	}
	began := time.Now()
	if err := populate(ctx, b.api, rack.BMCs, b.behaviours()); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "what %d BMCs have was created in %v\n", b.BMCs, time.Since(began).Round(time.Second))
	b.manager, err = startManager(ctx, b.binaries.Manager, b.api.Kubeconfig, b.folder, b.config)
	return err
}

func (b *bench) measure(ctx context.Context) error {
	if err := b.firstLook(ctx); err != nil {
		return err
	}
	before, err := b.stats()
	if err != nil {
		return err
	}
	last := before
	for range b.Intervals {
		if last, err = b.interval(ctx, last); err != nil {
			return err
		}
	}
	b.count(before, last)
	b.found.SlowestScrape = b.manager.slowest
	return b.restart(ctx)
}

func (b *bench) stats() ([]sim.Stats, error) {
	var rack rackAnswer
	err := b.rack.Ask(rackRequest{}, &rack)
	return rack.Stats, err
}

// firstLook waits until every healthy BMC is known and its Server Available, and until the first, shortened
// interval is over.
func (b *bench) firstLook(ctx context.Context) error {
	began := time.Now()
	nextTold := began.Add(tellEvery)
	for b.found.Available == 0 {
		asked := time.Now()
		state, err := b.manager.fleet(ctx)
		if err != nil {
			return err
		}
		nextTold = b.tell(state, began, nextTold)
		switch {
		case b.found.FirstLook == 0 && state.OK == b.found.Healthy:
			b.found.FirstLook = time.Since(began)
		case b.found.FirstLook > 0 && state.OK < b.found.Healthy/2:
			return fmt.Errorf("%d BMCs are observed after %v, and %d were after %v: the manager has lost its term and meets all BMCs anew",
				state.OK, time.Since(began).Round(time.Second), b.found.Healthy, b.found.FirstLook.Round(time.Second))
		}
		if b.found.FirstLook > 0 && state.Available == b.found.Healthy {
			b.found.Available = time.Since(began)
		}
		if err := b.pauseAfter(ctx, asked); err != nil {
			return err
		}
	}
	usage, err := b.manager.process.Usage()
	if err != nil {
		return err
	}
	stats, err := b.stats()
	if err != nil {
		return err
	}
	b.found.FirstLookCPU, b.found.FirstRequests = usage.CPU, b.mean(func(i int) int { return stats[i].Requests })
	fmt.Fprintf(os.Stderr, "all Servers Available after %v, %v of processor, memory %d MiB, peak %d MiB\n",
		b.found.Available.Round(time.Second), usage.CPU.Round(time.Second), usage.RSS>>20, usage.PeakRSS>>20)
	return pause(ctx, b.Interval)
}

// tell says how far the manager is that began at a time, when it is time for that, and returns when it is the next time.
func (b *bench) tell(state fleetState, began, next time.Time) time.Time {
	if time.Now().Before(next) {
		return next
	}
	fmt.Fprintf(os.Stderr, "%d of %d healthy BMCs observed after %v, %d Servers Available\n",
		state.OK, b.found.Healthy, time.Since(began).Round(time.Second), state.Available)
	return next.Add(tellEvery)
}

// restart ends the manager in an orderly way, starts another, and waits until it has observed every healthy BMC and the
// garbage of that is gone.
func (b *bench) restart(ctx context.Context) (err error) {
	if err := b.manager.process.Stop(); err != nil {
		return err
	}
	before, err := b.writes(ctx)
	if err != nil {
		return err
	}
	if b.manager, err = startManager(ctx, b.binaries.Manager, b.api.Kubeconfig, b.folder, b.config); err != nil {
		return err
	}
	began := time.Now()
	nextTold := began.Add(tellEvery)
	for asked := began; b.found.Again.Observed == 0; {
		if err := b.pauseAfter(ctx, asked); err != nil {
			return err
		}
		asked = time.Now()
		state, err := b.manager.fleet(ctx)
		if err != nil {
			return err
		}
		nextTold = b.tell(state, began, nextTold)
		if state.OK == b.found.Healthy {
			b.found.Again.Observed = time.Since(began)
		}
	}
	if err := pause(ctx, b.Interval/4); err != nil {
		return err
	}
	usage, err := b.manager.process.Usage()
	if err != nil {
		return err
	}
	b.found.Again.CPU, b.found.Again.PeakRSS = usage.CPU, usage.PeakRSS
	after, err := b.writes(ctx)
	b.found.Again.Writes = after - before
	return err
}

// writes are those to BMCs and Servers that the API has answered.
func (b *bench) writes(ctx context.Context) (int, error) {
	requests, err := b.api.Requests(ctx)
	return requests["bmcs"].Writes() + requests["servers"].Writes(), err
}

// interval lets one poll interval pass and looks on.
func (b *bench) interval(ctx context.Context, before []sim.Stats) ([]sim.Stats, error) {
	began := time.Now()
	first, err := b.manager.process.Usage()
	if err != nil {
		return nil, err
	}
	var i interval
	var now program.Usage
	for time.Since(began) < b.Interval {
		if err := pause(ctx, min(b.Interval/20, b.Interval-time.Since(began))); err != nil {
			return nil, err
		}
		if now, err = b.manager.process.Usage(); err != nil {
			return nil, err
		}
		i.RSS = max(i.RSS, now.RSS)
	}
	i.CPUShare = (now.CPU - first.CPU).Seconds() / time.Since(began).Seconds()
	after, err := b.stats()
	if err != nil {
		return nil, err
	}
	for n, kind := range b.behaviours() {
		if kind == healthy && after[n].Requests > before[n].Requests {
			i.Observed++
		}
	}
	state, err := b.manager.fleet(ctx)
	if err != nil {
		return nil, err
	}
	b.found.Failing = state.Failing
	b.found.Each = append(b.found.Each, i)
	fmt.Fprintf(os.Stderr, "interval %d: %d of %d healthy BMCs observed, %.3f cores, memory %d MiB\n",
		len(b.found.Each), i.Observed, b.found.Healthy, i.CPUShare, i.RSS>>20)
	b.found.RSS, b.found.PeakRSS = max(b.found.RSS, i.RSS), now.PeakRSS
	b.found.CPUShare += i.CPUShare / float64(b.Intervals)
	return after, nil
}

// mean is that of the healthy BMCs.
func (b *bench) mean(of func(i int) int) float64 {
	total := 0
	for i, kind := range b.behaviours() {
		if kind == healthy {
			total += of(i)
		}
	}
	return float64(total) / float64(b.found.Healthy)
}

// count compares what the BMCs saw.
func (b *bench) count(before, after []sim.Stats) {
	n := float64(b.Intervals)
	hung, hungRequests := 0, 0
	for i, kind := range b.behaviours() {
		requests := after[i].Requests - before[i].Requests
		switch kind {
		case healthy:
			b.found.RequestsMost = max(b.found.RequestsMost, float64(requests)/n)
			b.found.MaxLogins = max(b.found.MaxLogins, after[i].Logins)
		case hanging:
			hung++
			hungRequests += requests
		case refusing:
			continue
		}
		b.found.MaxRequests, b.found.MaxConnections = max(b.found.MaxRequests, after[i].MaxRequests), max(b.found.MaxConnections, after[i].MaxConnections)
	}
	b.found.RequestsMean = b.mean(func(i int) int { return after[i].Requests - before[i].Requests }) / n
	if hung > 0 {
		b.found.HangingLooks = float64(hungRequests) / float64(hung) / n
	}
}

// pauseAfter waits until the manager, which was asked at that time and has answered now, is asked again.
func (b *bench) pauseAfter(ctx context.Context, asked time.Time) error {
	return pause(ctx, max(min(time.Second, b.Interval/4), scrapeShare*time.Since(asked)))
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

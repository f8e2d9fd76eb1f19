package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/internal/sim"
)

// findings are what is printed and kept.
type findings struct {
	Healthy int `json:"healthy"`
	// FirstLook is how long it took until all healthy BMCs were known.
	FirstLook    time.Duration `json:"firstLookNanoseconds"`
	FirstLookCPU time.Duration `json:"firstLookCPUNanoseconds"`
	Each         []interval    `json:"intervals"`

	CPUShare float64 `json:"cores"` // over all intervals
	RSS      int64   `json:"rssBytes"`
	PeakRSS  int64   `json:"peakRSSBytes"` // the first look included
	// Of healthy BMCs over all intervals:
	RequestsMean   float64       `json:"requestsPerBMCAndInterval"`
	RequestsMost   float64       `json:"requestsPerBMCAndIntervalMost"`
	Oldest         time.Duration `json:"oldestObservationNanoseconds"`
	MaxRequests    int           `json:"requestsAtATimePerBMC"`
	MaxConnections int           `json:"connectionsAtATimePerBMC"`
	MaxLogins      int           `json:"loginsPerBMCMost"`
	HangingLooks   float64       `json:"requestsPerHangingBMCAndInterval"`
	Failing        int           `json:"othersKnownToFail"`
	Others         int           `json:"others"`
}

// interval is one poll interval.
type interval struct {
	Observed int           `json:"healthyObserved"`
	Oldest   time.Duration `json:"oldestObservationNanoseconds"`
	CPUShare float64       `json:"cores"`
	RSS      int64         `json:"rssBytes"`
}

type bench struct {
	config
	rack, fleet *child.Process
	found       findings
}

func measure(ctx context.Context, c config) (findings, error) {
	b := &bench{config: c}
	for _, kind := range c.behaviours() {
		if kind == healthy {
			b.found.Healthy++
		}
	}
	b.found.Others = c.BMCs - b.found.Healthy
	if err := b.measure(ctx); err != nil {
		return findings{}, err
	}
	return b.found, nil
}

func (b *bench) measure(ctx context.Context) (err error) {
	if b.rack, err = child.Start(ctx, roleRack); err != nil {
		return err
	}
	var rack rackAnswer
	if err := b.rack.Ask(rackRequest{Config: &b.config}, &rack); err != nil {
		return err
	}
	if b.fleet, err = child.Start(ctx, roleFleet); err != nil {
		return err
	}
	if err := b.firstLook(ctx, rack.BMCs); err != nil {
		return err
	}
	var before, after rackAnswer
	if err := b.rack.Ask(rackRequest{}, &before); err != nil {
		return err
	}
	for range b.Intervals {
		if err := b.interval(ctx); err != nil {
			return err
		}
	}
	if err := b.rack.Ask(rackRequest{}, &after); err != nil {
		return err
	}
	b.count(before.Stats, after.Stats)
	if err := b.fleet.Stop(); err != nil {
		return err
	}
	return b.rack.Stop()
}

// firstLook starts the fleet and waits until it knows every healthy BMC and the first,
// shortened interval is over.
func (b *bench) firstLook(ctx context.Context, bmcs []sim.BMCInfo) error {
	began := time.Now()
	request := fleetRequest{Config: &b.config, BMCs: bmcs}
	for {
		var a fleetAnswer
		if err := b.fleet.Ask(request, &a); err != nil {
			return err
		}
		if a.Known == b.found.Healthy {
			b.found.FirstLook, b.found.FirstLookCPU = time.Since(began), a.CPU
			return pause(ctx, b.Interval)
		}
		request = fleetRequest{}
		if err := pause(ctx, min(time.Second, b.Interval/4)); err != nil {
			return err
		}
	}
}

// interval lets one poll interval pass and looks on.
func (b *bench) interval(ctx context.Context) error {
	var before, now fleetAnswer
	began := time.Now()
	if err := b.fleet.Ask(fleetRequest{Since: began}, &before); err != nil {
		return err
	}
	var i interval
	for time.Since(began) < b.Interval {
		if err := pause(ctx, min(b.Interval/20, b.Interval-time.Since(began))); err != nil {
			return err
		}
		if err := b.fleet.Ask(fleetRequest{Since: began}, &now); err != nil {
			return err
		}
		i.Oldest = max(i.Oldest, time.Duration(now.OldestMS)*time.Millisecond)
	}
	i.Observed, i.RSS = now.Answered, now.RSS
	i.CPUShare = (now.CPU - before.CPU).Seconds() / time.Since(began).Seconds()
	b.found.Each = append(b.found.Each, i)
	b.found.Oldest, b.found.RSS, b.found.PeakRSS, b.found.Failing = max(b.found.Oldest, i.Oldest), max(b.found.RSS, i.RSS), now.PeakRSS, now.Failing
	b.found.CPUShare += i.CPUShare / float64(b.Intervals)
	return nil
}

// count compares what the BMCs saw.
func (b *bench) count(before, after []sim.Stats) {
	n := float64(b.Intervals)
	total, hung, hungRequests := 0, 0, 0
	for i, kind := range b.behaviours() {
		requests := after[i].Requests - before[i].Requests
		switch kind {
		case healthy:
			total += requests
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
	b.found.RequestsMean = float64(total) / float64(b.found.Healthy) / n
	if hung > 0 {
		b.found.HangingLooks = float64(hungRequests) / float64(hung) / n
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// print writes a Markdown table, so that it goes into docs/performance.md as it is.
func (f findings) print(w io.Writer, c config) {
	const mib = 1 << 20
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	line := func(cells ...any) { fmt.Fprintf(t, "| %v\t| %v\t| %v\t|\n", cells...) }
	line("what", "found", "to reach")
	line("---", "---", "---")
	for i, in := range f.Each {
		line(fmt.Sprintf("healthy BMCs observed in interval %d", i+1), fmt.Sprintf("%d of %d", in.Observed, f.Healthy), "all")
	}
	line("oldest observation of a healthy BMC", f.Oldest.Round(100*time.Millisecond), fmt.Sprintf("%v", c.Interval))
	line("requests per healthy BMC and interval", fmt.Sprintf("%.3f (most: %.2f)", f.RequestsMean, f.RequestsMost), "1.1")
	line("requests at a time per BMC", f.MaxRequests, 1)
	line("connections at a time per BMC", f.MaxConnections, 1)
	line("logins per healthy BMC since the start", f.MaxLogins, 1)
	line("requests per hanging BMC and interval", fmt.Sprintf("%.2f", f.HangingLooks), "")
	line("others known to fail", fmt.Sprintf("%d of %d", f.Failing, f.Others), "all")
	line("processor, cores", fmt.Sprintf("%.3f", f.CPUShare), "0.5")
	line("memory (RSS)", fmt.Sprintf("%.0f MiB (peak %.0f MiB)", float64(f.RSS)/mib, float64(f.PeakRSS)/mib), "600 MiB")
	line("first look at all, once", fmt.Sprintf("%v, %v of processor", f.FirstLook.Round(100*time.Millisecond), f.FirstLookCPU.Round(100*time.Millisecond)), "")
	_ = t.Flush()
}

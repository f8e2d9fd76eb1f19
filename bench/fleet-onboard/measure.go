package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/site"
)

// findings are what is printed and kept.
type findings struct {
	Runs []onboarded `json:"runs"`
}

// onboarded is one run.
type onboarded struct {
	Servers int           `json:"servers"`
	Took    time.Duration `json:"tookNanoseconds"` // from the first Endpoint to the last Available
	// Writes to Server objects, and how many of them are of status.
	ServerWrites float64 `json:"writesPerServerObject"`
	StatusWrites float64 `json:"statusWritesPerServerObject"`
	AllWrites    float64 `json:"writesPerServer"` // to objects of all kinds
	Deletes      float64 `json:"deletionsPerServer"`
	Reads        float64 `json:"readsPerServer"` // of single objects, past the manager's caches
	// Of has the requests about each kind.
	Of            map[string]requests `json:"requestsPerServerByKind"`
	StatusSeconds float64             `json:"statusShareOfAPIUpdateTime"`
	Heap          float64             `json:"managerHeapBytesPerServer"`
	PeakRSS       int64               `json:"managerPeakRSSBytes"`
	Logins        int                 `json:"loginsPerBMCMost"`
	Requests      float64             `json:"requestsPerBMC"`
	PowerOns      int                 `json:"powerOnsPerMachineMost"`
	// Processor time by process.
	ManagerCPU time.Duration `json:"managerCPUNanoseconds"`
	APICPU     time.Duration `json:"apiCPUNanoseconds"`
	RackCPU    time.Duration `json:"rackCPUNanoseconds"`
}

// requests are those about objects of one kind, per server.
type requests struct {
	Creates       float64 `json:"creates"`
	Updates       float64 `json:"updates"`
	StatusUpdates float64 `json:"statusUpdates"`
	Deletes       float64 `json:"deletions"`
	Reads         float64 `json:"reads"`
}

func (r requests) writes() float64 { return r.Creates + r.Updates + r.StatusUpdates }

// pollInterval is what a site has by default.
const pollInterval = 2 * time.Minute

func measure(ctx context.Context, c config, n int) (o onboarded, err error) {
	s, err := site.Start(ctx, site.Config{
		Binaries: c.binaries, BMCs: n, Timing: c.Timing, PollInterval: pollInterval, FastPoll: c.FastPoll, Profiles: c.Profiles, APIProfiles: c.APIProfiles,
	})
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	ctx, cancel := context.WithTimeout(ctx, c.Limit) // the site outlives it, and tells how far it came
	defer cancel()
	empty, err := s.Manager.Heap(ctx)
	if err != nil {
		return o, err
	}
	before, err := s.API.Requests(ctx)
	if err != nil {
		return o, err
	}
	o.Servers = n
	began := time.Now()
	if err := s.CreateEndpoints(ctx); err != nil {
		return o, err
	}
	// Asking costs as well: the manager's own count until the end, which does not depend on how many there are, and then the objects.
	every := min(max(200*time.Millisecond, time.Duration(n)*time.Millisecond), 5*time.Second)
	if err := s.Await(ctx, n, every, s.Manager.Available); err != nil {
		return o, fmt.Errorf("available by the manager's count: %w", err)
	}
	if err := s.Await(ctx, n, every, s.API.Available); err != nil {
		return o, fmt.Errorf("available: %w", err)
	}
	o.Took = time.Since(began)
	return o, o.read(ctx, s, empty, before)
}

// read asks the processes what it took.
func (o *onboarded) read(ctx context.Context, s *site.Site, empty int64, before map[string]site.Requests) error {
	n := float64(o.Servers)
	manager, err := s.Manager.Process.Usage()
	if err != nil {
		return err
	}
	api, err := s.API.Process.Usage()
	if err != nil {
		return err
	}
	o.ManagerCPU, o.PeakRSS, o.APICPU = manager.CPU, manager.PeakRSS, api.CPU
	machines, cpu, err := s.Rack.Machines()
	if err != nil {
		return err
	}
	o.RackCPU = cpu
	for _, m := range machines {
		o.Logins, o.PowerOns = max(o.Logins, m.Logins), max(o.PowerOns, m.Resets["On"])
		o.Requests += float64(m.Requests) / n
	}
	after, err := s.API.Requests(ctx)
	if err != nil {
		return err
	}
	var updates, statusUpdates float64
	o.Of = map[string]requests{}
	for kind, r := range after {
		b := before[kind]
		one := requests{
			Creates: float64(r.Creates-b.Creates) / n, Updates: float64(r.Updates-b.Updates) / n,
			StatusUpdates: float64(r.StatusUpdates-b.StatusUpdates) / n, Deletes: float64(r.Deletes-b.Deletes) / n, Reads: float64(r.Reads-b.Reads) / n,
		}
		o.AllWrites += one.writes()
		o.Deletes += one.Deletes
		if o.Reads += one.Reads; one.writes() > 0.5 || one.Reads > 0.5 {
			o.Of[kind] = one
		}
		updates += r.Seconds - before[kind].Seconds
		statusUpdates += r.StatusSeconds - before[kind].StatusSeconds
	}
	o.StatusSeconds = statusUpdates / updates
	o.ServerWrites = float64(after["servers"].Writes()) / n
	o.StatusWrites = float64(after["servers"].StatusUpdates) / n
	heap, err := s.Manager.Heap(ctx)
	o.Heap = float64(heap-empty) / n
	return err
}

// print writes a Markdown table, so that it goes into README.md beside this file as it is.
func (f findings) print(w io.Writer) {
	const kib, mib = 1 << 10, 1 << 20
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	line := func(what string, cell func(onboarded) string, promise string) {
		fmt.Fprintf(t, "| %s\t|", what)
		for _, r := range f.Runs {
			fmt.Fprintf(t, " %s\t|", cell(r))
		}
		fmt.Fprintf(t, " %s\t|\n", promise)
	}
	line("servers", func(o onboarded) string { return fmt.Sprint(o.Servers) }, "promise")
	line("---", func(onboarded) string { return "---" }, "---")
	line("Endpoint to Available, all", func(o onboarded) string { return o.Took.Round(100 * time.Millisecond).String() }, "10,000: ≤ 8m")
	previous := 0.0
	line("times the one before", func(o onboarded) string {
		ratio := o.Took.Seconds() / previous
		if previous == 0 {
			ratio = 1
		}
		previous = o.Took.Seconds()
		return fmt.Sprintf("%.1f", ratio)
	}, "10,000 after 1,000: ≤ 10.5")
	line("writes to a Server object", func(o onboarded) string { return fmt.Sprintf("%.2f (status: %.2f)", o.ServerWrites, o.StatusWrites) }, "")
	line("writes per server, objects of all kinds", func(o onboarded) string { return fmt.Sprintf("%.1f", o.AllWrites) }, "≤ 11")
	for _, kind := range slices.Sorted(maps.Keys(f.Runs[len(f.Runs)-1].Of)) {
		line("of them to "+kind, func(o onboarded) string {
			r := o.Of[kind]
			return fmt.Sprintf("%.1f (status: %.1f), read %.1f, deleted %.1f", r.writes(), r.StatusUpdates, r.Reads, r.Deletes)
		}, "")
	}
	line("deletions, and reads past caches, per server", func(o onboarded) string { return fmt.Sprintf("%.1f, %.1f", o.Deletes, o.Reads) }, "")
	line("status writes, of the API's time for updates", func(o onboarded) string { return fmt.Sprintf("%.0f %%", 100*o.StatusSeconds) }, "")
	line("manager heap per server", func(o onboarded) string { return fmt.Sprintf("%.1f KiB", o.Heap/kib) }, "≤ 40 KiB")
	line("manager memory at its peak (RSS)", func(o onboarded) string { return fmt.Sprintf("%.0f MiB", float64(o.PeakRSS)/mib) }, "")
	line("logins per BMC, most", func(o onboarded) string { return fmt.Sprint(o.Logins) }, "≤ 3")
	line("requests per BMC", func(o onboarded) string { return fmt.Sprintf("%.1f", o.Requests) }, "")
	line("power-ons per machine, most", func(o onboarded) string { return fmt.Sprint(o.PowerOns) }, "1")
	cpu := func(d time.Duration, o onboarded) string {
		return fmt.Sprintf("%.1f ms", d.Seconds()*1000/float64(o.Servers))
	}
	line("processor time per server: manager", func(o onboarded) string { return cpu(o.ManagerCPU, o) }, "")
	line("the same: Kubernetes API", func(o onboarded) string { return cpu(o.APICPU, o) }, "")
	line("the same: rack and registry", func(o onboarded) string { return cpu(o.RackCPU, o) }, "")
	_ = t.Flush()
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/site"
	"github.com/farrier-dev/farrier/bench/internal/stats"
)

// findings are what is printed and kept.
type findings struct {
	Runs []claimed `json:"runs"`
}

// claimed is one run: one number of servers, with or without selectors.
type claimed struct {
	Servers  int  `json:"servers"`
	Labelled bool `json:"byLabel"`
	// Alone is how long a claim takes by itself from its creation until it is seen bound, the median of several.
	// AloneRefused are the writes of such a claim that collided with another write.
	Alone        time.Duration `json:"aloneNanoseconds"`
	AloneRefused float64       `json:"aloneRefusedWritesPerClaim"`
	// All is from the first creation until the last of many is bound, P50 and P99 are of each from its creation.
	All time.Duration `json:"allNanoseconds"`
	P50 time.Duration `json:"p50Nanoseconds"`
	P99 time.Duration `json:"p99Nanoseconds"`
	// CPU is the controller's for each of the many, APICPU that of the Kubernetes API, which is written to by this process as well.
	CPU    time.Duration `json:"controllerCPUNanosecondsPerClaim"`
	APICPU time.Duration `json:"apiCPUNanosecondsPerClaim"`
	// Writes are those of each of the many, its creation among them, and Refused those that collided with another write. Reads
	// are those of single objects.
	Writes  float64 `json:"writesPerClaim"`
	Refused float64 `json:"refusedWritesPerClaim"`
	Reads   float64 `json:"readsPerClaim"`
	// PerWorker is All in units of one claim's own time, for each worker.
	PerWorker float64 `json:"allInOwnTimesPerWorker"`
	Bound     int     `json:"bound"`
	Twice     int     `json:"boundTwice"`
	Lost      int     `json:"lost"`
}

type bench struct {
	config
	api        *site.API
	controller *child.Process
	bound      <-chan seen
}

func measure(ctx context.Context, c config, n int) (runs []claimed, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	folder, err := os.MkdirTemp("", "farrier-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	b := &bench{config: c}
	if b.api, err = site.StartAPI(ctx, c.API, folder, c.APIProfiles); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.api.Process.Stop()) }()
	if err := populate(ctx, b.api, n); err != nil {
		return nil, err
	}
	if b.controller, err = child.Start(ctx, roleController); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.controller.Stop()) }()
	if _, err := b.used(controllerRequest{Kubeconfig: b.api.Kubeconfig, Workers: c.Workers, Profiles: c.Profiles}); err != nil {
		return nil, err
	}
	if b.bound, err = bound(ctx, b.api); err != nil {
		return nil, err
	}
	for _, labelled := range []bool{false, true} {
		r := claimed{Servers: n, Labelled: labelled}
		if err := b.alone(ctx, &r); err != nil {
			return nil, err
		}
		if err := b.many(ctx, &r); err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "%d servers, by label %t: %v\n", n, labelled, r.All.Round(time.Millisecond))
		runs = append(runs, r)
	}
	return runs, nil
}

func (b *bench) used(request controllerRequest) (time.Duration, error) {
	var a controllerAnswer
	err := b.controller.Ask(request, &a)
	return a.CPU, err
}

// alone binds claims one after the other.
func (b *bench) alone(ctx context.Context, r *claimed) error {
	before, err := b.spent(ctx)
	if err != nil {
		return err
	}
	var each []time.Duration
	for i := range b.Single {
		began := time.Now()
		if err := b.api.Create(ctx, claimOf(fmt.Sprintf("alone-%d", i), i, r.Labelled)); err != nil {
			return fmt.Errorf("create a claim: %w", err)
		}
		s, err := b.next(ctx)
		if err != nil {
			return err
		}
		each = append(each, s.at.Sub(began))
	}
	r.Alone = stats.Median(each)
	after, err := b.spent(ctx)
	if err != nil {
		return err
	}
	r.AloneRefused = per(b.Single, after.refused-before.refused)
	return reset(ctx, b.api)
}

func (b *bench) next(ctx context.Context) (seen, error) {
	select {
	case s, open := <-b.bound:
		if !open {
			return s, errors.New("the watch of claims has ended")
		}
		return s, nil
	case <-ctx.Done():
		return seen{}, fmt.Errorf("a claim is not bound: %w", ctx.Err())
	}
}

// many binds all claims at once.
func (b *bench) many(ctx context.Context, r *claimed) error {
	before, err := b.spent(ctx)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	created := map[string]time.Time{}
	began := time.Now()
	failed := make(chan error, 1)
	go func() {
		failed <- site.Each(ctx, b.Claims, func(ctx context.Context, i int) error {
			c := claimOf(fmt.Sprintf("claim-%04d", i), i, r.Labelled)
			mu.Lock()
			created[c.Name] = time.Now()
			mu.Unlock()
			return b.api.Create(ctx, c)
		})
	}()
	at := map[string]time.Time{}
	for len(at) < b.Claims {
		s, err := b.next(ctx)
		if err != nil {
			return fmt.Errorf("%d of %d: %w", len(at), b.Claims, err)
		}
		at[s.claim] = s.at
		r.All = s.at.Sub(began)
	}
	if err := <-failed; err != nil {
		return err
	}
	var each []time.Duration
	for name, t := range at {
		each = append(each, t.Sub(created[name]))
	}
	r.P50, r.P99 = stats.Median(each), stats.Quantile(each, 0.99)
	after, err := b.spent(ctx)
	if err != nil {
		return err
	}
	n := b.Claims
	r.CPU, r.APICPU = (after.controller-before.controller)/time.Duration(n), (after.api-before.api)/time.Duration(n)
	r.Writes, r.Refused, r.Reads = per(n, after.writes-before.writes), per(n, after.refused-before.refused), per(n, after.reads-before.reads)
	r.PerWorker = r.All.Seconds() / r.Alone.Seconds() / float64(b.Workers)
	if r.Bound, r.Twice, r.Lost, err = tally(ctx, b.api); err != nil {
		return err
	}
	return reset(ctx, b.api)
}

// spent is what the run has cost so far.
type spent struct {
	controller, api        time.Duration // of processors
	writes, refused, reads int
}

func (b *bench) spent(ctx context.Context) (s spent, err error) {
	requests, err := b.api.Requests(ctx)
	if err != nil {
		return s, err
	}
	for _, resource := range []string{"servers", "serverclaims", "serverbootconfigurations"} {
		r := requests[resource]
		s.writes, s.refused, s.reads = s.writes+r.Writes(), s.refused+r.Refused, s.reads+r.Reads
	}
	usage, err := b.api.Process.Usage()
	if err != nil {
		return s, err
	}
	s.api = usage.CPU
	s.controller, err = b.used(controllerRequest{})
	return s, err
}

func per(n, count int) float64 { return float64(count) / float64(n) }

// print writes a Markdown table, so that it goes into README.md beside this file as it is.
func (f findings) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	line := func(what string, cell func(claimed) any, promise string) {
		fmt.Fprintf(t, "| %s\t|", what)
		for _, r := range f.Runs {
			fmt.Fprintf(t, " %v\t|", cell(r))
		}
		fmt.Fprintf(t, " %s\t|\n", promise)
	}
	ms := func(d time.Duration) any { return d.Round(100 * time.Microsecond) }
	line("servers", func(r claimed) any {
		return fmt.Sprintf("%d, %s", r.Servers, map[bool]string{true: "by label", false: "any"}[r.Labelled])
	}, "promise")
	line("---", func(claimed) any { return "---" }, "---")
	line("bound", func(r claimed) any { return r.Bound }, "all")
	line("bound twice", func(r claimed) any { return r.Twice }, "0")
	line("lost", func(r claimed) any { return r.Lost }, "0")
	line("one claim alone, median", func(r claimed) any { return ms(r.Alone) }, "10,000: ≤ 1.5 times 1,000")
	line("all at once, the last", func(r claimed) any { return ms(r.All) }, "")
	line("claims bound a second", func(r claimed) any { return fmt.Sprintf("%.0f", float64(r.Bound)/r.All.Seconds()) }, "≥ 100")
	line("time until all are bound, in times of one claim alone, per worker", func(r claimed) any { return fmt.Sprintf("%.1f", r.PerWorker) }, "")
	line("all at once, median of a claim", func(r claimed) any { return ms(r.P50) }, "")
	line("all at once, p99 of a claim", func(r claimed) any { return ms(r.P99) }, "")
	line("writes per claim", func(r claimed) any { return fmt.Sprintf("%.2f", r.Writes) }, "")
	line("refused writes per claim: at once, alone", func(r claimed) any { return fmt.Sprintf("%.2f, %.2f", r.Refused, r.AloneRefused) }, "")
	line("reads per claim", func(r claimed) any { return fmt.Sprintf("%.2f", r.Reads) }, "")
	line("processor time per claim: controller", func(r claimed) any { return ms(r.CPU) }, "10,000: ≤ 1.5 times 1,000")
	line("the same: Kubernetes API", func(r claimed) any { return ms(r.APICPU) }, "")
	_ = t.Flush()
}

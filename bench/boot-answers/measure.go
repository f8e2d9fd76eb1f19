package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/load"
	"github.com/farrier-dev/farrier/bench/internal/stats"
	"github.com/farrier-dev/farrier/bench/internal/streaming"
)

// bench is the processes of one run.
type bench struct {
	config
	folder    string
	few, many *server
	// apart is a farrier-bootserver that gets what many has over the boot stream.
	apart *server
	load  *child.Process

	heapPerMachine, heapPerAssignment float64
}

// server is one process that is asked: one of ours, or a farrier-bootserver.
type server struct {
	*child.Process
	apart   *apart
	address string
}

// used is what the process has used since it started. How often another program allocates is not known.
func (s *server) used() (a serverAnswer, err error) {
	if s.apart != nil {
		usage, err := s.apart.Usage()
		return serverAnswer{CPU: usage.CPU}, err
	}
	return a, s.Ask(serverRequest{}, &a)
}

func startChild(ctx context.Context, request serverRequest) (*server, serverAnswer, error) {
	p, err := child.Start(ctx, roleServer)
	if err != nil {
		return nil, serverAnswer{}, err
	}
	var a serverAnswer
	err = p.Ask(request, &a)
	return &server{Process: p, address: a.Address}, a, err
}

func newBench(ctx context.Context, c config) (*bench, error) {
	folder, err := newFolder()
	if err != nil {
		return nil, err
	}
	b := &bench{config: c, folder: folder}
	certificates, err := streaming.Issue(filepath.Join(folder, "pki"))
	if err != nil {
		return nil, err
	}
	if b.few, _, err = startChild(ctx, serverRequest{Machines: c.Few, Assignments: c.FewAssign}); err != nil {
		return nil, err
	}
	var a serverAnswer
	if b.many, a, err = startChild(ctx, serverRequest{Machines: c.Many, Assignments: c.ManyAssign, Certificates: certificates.Manager}); err != nil {
		return nil, err
	}
	b.heapPerMachine, b.heapPerAssignment = a.HeapPerMachine, a.HeapPerAssignment
	p, err := startApart(ctx, folder, certificates, a.Stream)
	if err != nil {
		return nil, err
	}
	b.apart = &server{apart: p, address: p.address}
	b.load, err = child.Start(ctx, roleLoad)
	return b, err
}

func (b *bench) stop() error {
	return errors.Join(b.apart.apart.Stop(), b.few.Stop(), b.many.Stop(), b.load.Stop(), os.RemoveAll(b.folder))
}

// figures are the medians over all rounds of one server.
type figures struct {
	PerSecond    float64       `json:"requestsPerSecond"`
	P50          time.Duration `json:"p50Nanoseconds"`
	P99          time.Duration `json:"p99Nanoseconds"`
	CPUPerAnswer time.Duration `json:"cpuPerAnswerNanoseconds"`
	Mallocs      float64       `json:"allocationsPerAnswer"`
}

// ratios are medians of the ratios of single rounds, which is not the same as
// ratios of medians: neighbours in time had the same neighbours on the machine.
type ratios struct {
	// Rate: answers a second, of the bare handler's; 1 is as fast.
	Rate float64 `json:"rate"`
	// CPU: the bare handler's processor time for an answer, of ours. The load
	// generator is not in it, so it is the stricter one.
	CPU float64 `json:"cpu"`
}

// row is what was found for one path.
type row struct {
	Path       string  `json:"path"`
	BodyBytes  int     `json:"bodyBytes"`
	Bare       figures `json:"bare"`
	Few        figures `json:"few"`
	Many       figures `json:"many"`
	Apart      figures `json:"apart"`
	FewOfBare  ratios  `json:"fewOfBare"`
	ManyOfBare ratios  `json:"manyOfBare"`
	ManyOfFew  ratios  `json:"manyOfFew"`
	// Apart is a farrier-bootserver with as many machines as many.
	ApartOfBare ratios `json:"apartOfBare"`
	ApartOfMany ratios `json:"apartOfMany"`
}

func (b *bench) measure(ctx context.Context, path string) (row, error) {
	few, many := b.sizes(path)
	sample, err := load.Fetch(ctx, b.many.address, request(path, few-1, nil))
	if err != nil {
		return row{}, err
	}
	bare, _, err := startChild(ctx, serverRequest{BareSize: len(sample)})
	if err != nil {
		return row{}, err
	}
	targets := []*server{bare, b.few, b.many, b.apart}
	rounds := make([][]figures, len(targets))
	for round := range b.Rounds + 1 {
		for turn := range targets {
			// Another one begins every round: what the others left behind in
			// caches falls on each in turn.
			i := (turn + round) % len(targets)
			f, err := b.ask(targets[i], path, []int{few, few, many, many}[i], uint64(round))
			if err != nil {
				return row{}, err
			}
			if round > 0 || b.Rounds == 1 { // the first one warms up
				rounds[i] = append(rounds[i], f)
			}
		}
	}
	return row{
		Path: path, BodyBytes: len(sample),
		Bare: median(rounds[0]), Few: median(rounds[1]), Many: median(rounds[2]), Apart: median(rounds[3]),
		FewOfBare: compare(rounds[1], rounds[0]), ManyOfBare: compare(rounds[2], rounds[0]), ManyOfFew: compare(rounds[2], rounds[1]),
		ApartOfBare: compare(rounds[3], rounds[0]), ApartOfMany: compare(rounds[3], rounds[2]),
	}, bare.Stop()
}

// sizes are how many machines of each site ask for a path: who names itself has an assignment of its own.
func (c config) sizes(path string) (few, many int) {
	if path == pathConfig || path == pathLabels {
		return c.FewAssign, c.ManyAssign
	}
	return c.Few, c.Many
}

// ask puts load on one server for one turn.
func (b *bench) ask(s *server, path string, machines int, seed uint64) (figures, error) {
	var got load.Outcome
	before, err := s.used()
	if err != nil {
		return figures{}, err
	}
	err = b.load.Ask(loadRequest{
		Address: s.address, Path: path, Machines: machines, Connections: b.Connections, Duration: b.Duration, Seed: seed,
	}, &got)
	if err != nil {
		return figures{}, err
	}
	after, err := s.used()
	if err != nil {
		return figures{}, err
	}
	return figures{
		PerSecond: got.PerSecond(), P50: got.P50, P99: got.P99,
		CPUPerAnswer: (after.CPU - before.CPU) / time.Duration(got.Requests),
		Mallocs:      float64(after.Mallocs-before.Mallocs) / float64(got.Requests),
	}, nil
}

func median(rounds []figures) figures {
	return figures{
		PerSecond:    stats.Median(each(rounds, func(f figures) float64 { return f.PerSecond })),
		P50:          stats.Median(each(rounds, func(f figures) time.Duration { return f.P50 })),
		P99:          stats.Median(each(rounds, func(f figures) time.Duration { return f.P99 })),
		CPUPerAnswer: stats.Median(each(rounds, func(f figures) time.Duration { return f.CPUPerAnswer })),
		Mallocs:      stats.Median(each(rounds, func(f figures) float64 { return f.Mallocs })),
	}
}

func each[T any](rounds []figures, of func(figures) T) []T {
	out := make([]T, len(rounds))
	for i, f := range rounds {
		out[i] = of(f)
	}
	return out
}

func compare(ours, other []figures) ratios {
	var rate, cpu []float64
	for i := range ours {
		rate = append(rate, ours[i].PerSecond/other[i].PerSecond)
		cpu = append(cpu, float64(other[i].CPUPerAnswer)/float64(ours[i].CPUPerAnswer))
	}
	return ratios{Rate: stats.Median(rate), CPU: stats.Median(cpu)}
}

// promised is the least part of a bare handler's rate that docs/performance.md promises.
func promised(path string) float64 {
	if path == pathHTTPBoot || path == pathLabels {
		return 0.8
	}
	return 0.85
}

// printTable prints a Markdown table, so that it goes into README.md beside this file as it is.
func printTable(w io.Writer, c config, rows []row) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| path\t| server\t| bytes\t| answers/s\t| of bare\t| promise\t| CPU an answer\t| of bare (CPU)\t| p50\t| p99\t| allocations\t|")
	fmt.Fprintln(t, "| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t|")
	for _, r := range rows {
		few, many := c.sizes(r.Path)
		for _, line := range []struct {
			name string
			figures
			ratios
			promise string
		}{
			{"bare handler", r.Bare, ratios{1, 1}, ""},
			{fmt.Sprintf("%d machines", few), r.Few, r.FewOfBare, ""},
			{fmt.Sprintf("%d machines", many), r.Many, r.ManyOfBare, fmt.Sprintf("≥ %.2f", promised(r.Path))},
			{fmt.Sprintf("`farrier-bootserver`, %d machines", many), r.Apart, r.ApartOfBare, ""},
		} {
			allocations := fmt.Sprintf("%.0f", line.Mallocs)
			if line.Mallocs == 0 {
				allocations = ""
			}
			fmt.Fprintf(t, "| `%s`\t| %s\t| %d\t| %.0f\t| %.2f\t| %s\t| %.1f µs\t| %.2f\t| %d µs\t| %d µs\t| %s\t|\n",
				r.Path, line.name, r.BodyBytes, line.PerSecond, line.Rate, line.promise, float64(line.CPUPerAnswer)/1e3, line.CPU,
				line.P50.Microseconds(), line.P99.Microseconds(), allocations)
		}
	}
	_ = t.Flush()
	fmt.Fprintln(w)
	for _, r := range rows {
		few, many := c.sizes(r.Path)
		fmt.Fprintf(w, "`%s`: %d machines answer at %.2f of the rate of %d (promise: ≥ 0.9); farrier-bootserver at %.2f of it, and at %.2f by processor time (promise: as fast).\n",
			r.Path, many, r.ManyOfFew.Rate, few, r.ApartOfMany.Rate, r.ApartOfMany.CPU)
	}
}

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/load"
	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/bench/internal/stats"
	"github.com/farrier-dev/farrier/bench/internal/streaming"
)

// bench is the processes of one run.
type bench struct {
	config
	folder    string
	few, many *server
	// apart is a farrier-bootserver that gets what many has over the boot stream; nil: there is none.
	apart *server
	load  *child.Process

	heapPerMachine, heapPerAssignment float64
}

// server is one process that is asked: one of ours, or another program.
type server struct {
	*child.Process
	program *program.Program
	address string
}

// used is what the process has used since it started. How often another program allocates is not known.
func (s *server) used() (a serverAnswer, err error) {
	if s.program != nil {
		usage, err := s.program.Usage()
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
	var certificates streaming.Certificates
	if !c.Alone {
		if certificates, err = streaming.Issue(filepath.Join(folder, "pki")); err != nil {
			return nil, err
		}
	}
	if b.few, _, err = startChild(ctx, serverRequest{Machines: c.Few, Assignments: c.FewAssign, Ignition: c.Ignition}); err != nil {
		return nil, err
	}
	var a serverAnswer
	b.many, a, err = startChild(ctx, serverRequest{Machines: c.Many, Assignments: c.ManyAssign, Ignition: c.Ignition, Certificates: certificates.Manager})
	if err != nil {
		return nil, err
	}
	b.heapPerMachine, b.heapPerAssignment = a.HeapPerMachine, a.HeapPerAssignment
	if !c.Alone {
		p, err := startApart(ctx, folder, certificates, a.Stream)
		if err != nil {
			return nil, err
		}
		b.apart = &server{program: p.Program, address: p.address}
	}
	b.load, err = child.Start(ctx, roleLoad)
	return b, err
}

func (b *bench) stop() error {
	err := errors.Join(b.few.Stop(), b.many.Stop(), b.load.Stop(), os.RemoveAll(b.folder))
	if b.apart != nil {
		err = errors.Join(b.apart.program.Stop(), err)
	}
	return err
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
	targets := []*server{bare, b.few, b.many}
	if b.apart != nil {
		targets = append(targets, b.apart)
	}
	rounds := make([][]figures, len(targets))
	for round := range b.Rounds + 1 {
		for turn := range targets {
			// Another one begins every round: what the others left behind in
			// caches falls on each in turn.
			i := (turn + round) % len(targets)
			f, err := b.ask(targets[i], b.load, loadRequest{Path: path, Machines: []int{few, few, many, many}[i], Seed: uint64(round)})
			if err != nil {
				return row{}, err
			}
			if round > 0 || b.Rounds == 1 { // the first one warms up
				rounds[i] = append(rounds[i], f)
			}
		}
	}
	r := row{
		Path: path, BodyBytes: len(sample), Bare: median(rounds[0]), Few: median(rounds[1]), Many: median(rounds[2]),
		FewOfBare: compare(rounds[1], rounds[0]), ManyOfBare: compare(rounds[2], rounds[0]), ManyOfFew: compare(rounds[2], rounds[1]),
	}
	if b.apart != nil {
		r.Apart, r.ApartOfBare, r.ApartOfMany = median(rounds[3]), compare(rounds[3], rounds[0]), compare(rounds[3], rounds[2])
	}
	return r, bare.Stop()
}

// sizes are how many machines of each site ask for a path: who names itself has an assignment of its own.
func (c config) sizes(path string) (few, many int) {
	if path == pathConfig || path == pathLabels {
		return c.FewAssign, c.ManyAssign
	}
	return c.Few, c.Many
}

// ask puts load on one server for one turn.
func (c config) ask(s *server, generator *child.Process, r loadRequest) (figures, error) {
	r.Address, r.Connections, r.Duration = s.address, c.Connections, c.Duration
	var got load.Outcome
	before, err := s.used()
	if err != nil {
		return figures{}, err
	}
	if err := generator.Ask(r, &got); err != nil {
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

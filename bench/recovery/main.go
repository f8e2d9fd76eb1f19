// Command recovery measures what it costs that the manager is killed in the middle of onboarding, with some BMCs that never
// answer: how much longer it takes until all healthy servers are Available, and whether any machine was switched that should
// not have been.
//
// The same site is onboarded twice, once without a kill and once with.
//
//	go run ./bench/recovery
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/result"
	"github.com/farrier-dev/farrier/bench/internal/site"
	"github.com/farrier-dev/farrier/internal/sim"
)

type config struct {
	Servers  int           `json:"servers"`
	Dead     float64       `json:"deadShare"`
	KillAt   float64       `json:"killedAtShare"`
	Timing   sim.Timing    `json:"timing"`
	Interval time.Duration `json:"pollIntervalNanoseconds"`
	FastPoll time.Duration `json:"fastPollNanoseconds"`
	Limit    time.Duration `json:"-"`
	Out      string        `json:"-"`
	binaries site.Binaries
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch child.Role() {
	case site.RoleRack:
		err = site.ServeRack(ctx)
	default:
		err = run(ctx, parseFlags())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "recovery:", err)
		os.Exit(1)
	}
}

func parseFlags() config {
	c := config{Timing: sim.Timing{POST: time.Second, OSBoot: time.Second, Shutdown: time.Second, Latency: 50 * time.Millisecond}}
	flag.IntVar(&c.Servers, "servers", 1000, "servers")
	flag.Float64Var(&c.Dead, "dead", 0.05, "share of BMCs that accept connections and never answer")
	flag.Float64Var(&c.KillAt, "kill-at", 0.5, "share of the healthy servers that are inspected when the manager is killed")
	flag.DurationVar(&c.Interval, "interval", 2*time.Minute, "the manager's --bmc-poll-interval")
	flag.DurationVar(&c.FastPoll, "fast-poll", 5*time.Second, "the manager's --bmc-fast-poll")
	flag.DurationVar(&c.Limit, "limit", time.Hour, "give up a run after this long")
	flag.StringVar(&c.Out, "out", "bench/results/recovery.json", "file for the result; empty: none")
	flag.StringVar(&c.binaries.Manager, "manager", "", "farrier-manager to run (default: built from this tree)")
	flag.StringVar(&c.binaries.API, "api", "", "Kubernetes API to run (default: built from this tree)")
	smoke := flag.Bool("smoke", false, "a small and short run that shows only that it works; writes no file")
	flag.Parse()
	if *smoke {
		c.Servers, c.Timing, c.FastPoll, c.Out = 20, sim.Timing{POST: time.Second, Latency: time.Millisecond}, time.Second, ""
	}
	return c
}

func run(ctx context.Context, c config) error {
	r := result.Result{Name: "recovery", Date: time.Now().UTC().Truncate(time.Second), Machine: result.ThisMachine(), Config: c}
	folder, err := os.MkdirTemp("", "farrier-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := c.binaries.Build(ctx, folder); err != nil {
		return err
	}
	var found findings
	if found.Undisturbed, err = measure(ctx, c, false); err != nil {
		return fmt.Errorf("undisturbed: %w", err)
	}
	if found.Killed, err = measure(ctx, c, true); err != nil {
		return fmt.Errorf("with a kill: %w", err)
	}
	found.print(os.Stdout, c)
	if c.Out == "" {
		return nil
	}
	r.Findings = found
	return r.Write(c.Out)
}

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
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/options"
	"github.com/farrier-dev/farrier/bench/internal/result"
	"github.com/farrier-dev/farrier/bench/internal/site"
	"github.com/farrier-dev/farrier/internal/sim"
)

// name is what it and its result are called.
const name = "recovery"

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
	child.Main(name, child.Roles{site.RoleRack: site.ServeRack}, run)
}

func parseFlags() config {
	c := config{Timing: sim.Timing{POST: time.Second, BootRetry: 30 * time.Second, OSBoot: time.Second, Shutdown: time.Second, Latency: 50 * time.Millisecond}}
	flag.IntVar(&c.Servers, "servers", 1000, "servers")
	flag.Float64Var(&c.Dead, "dead", 0.05, "share of BMCs that accept connections and never answer")
	flag.Float64Var(&c.KillAt, "kill-at", 0.5, "share of the healthy servers that are inspected when the manager is killed")
	flag.DurationVar(&c.Interval, "interval", 2*time.Minute, "the manager's --bmc-poll-interval")
	flag.DurationVar(&c.FastPoll, "fast-poll", 5*time.Second, "the manager's --bmc-fast-poll")
	flag.DurationVar(&c.Limit, "limit", 6*time.Minute, "give up a run after this long")
	options.Out(&c.Out, name)
	c.binaries.Bind()
	smoke := options.Smoke()
	flag.Parse()
	if *smoke {
		c.Servers, c.Timing, c.FastPoll, c.Out = 20, sim.Timing{POST: time.Second, BootRetry: 5 * time.Second, Latency: time.Millisecond}, time.Second, ""
	}
	return c
}

func run(ctx context.Context) error {
	c := parseFlags()
	r := result.Begin(name, c)
	remove, err := c.binaries.BuildApart(ctx)
	if err != nil {
		return err
	}
	defer remove()
	var found findings
	if found.Undisturbed, err = measure(ctx, c, false); err != nil {
		return fmt.Errorf("undisturbed: %w", err)
	}
	if found.Killed, err = measure(ctx, c, true); err != nil {
		return fmt.Errorf("with a kill: %w", err)
	}
	found.print(os.Stdout, c)
	return r.Finish(c.Out, found)
}

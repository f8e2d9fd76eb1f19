// Command rollout measures what a BIOS update of a fleet costs, beside one of a single server: requests to each BMC, how often the image
// is fetched, and how many servers are unavailable at once.
//
// One site is onboarded. One server is updated alone, and then all others under a budget.
//
//	go run ./bench/rollout
package main

import (
	"context"
	"flag"
	"os"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/options"
	"github.com/farrier-dev/farrier/bench/internal/result"
	"github.com/farrier-dev/farrier/bench/internal/site"
	"github.com/farrier-dev/farrier/internal/sim"
)

// name is what it and its result are called.
const name = "rollout"

type config struct {
	Servers        int           `json:"servers"`
	MaxUnavailable int           `json:"maxUnavailable"`
	Timing         sim.Timing    `json:"timing"`
	Limit          time.Duration `json:"-"`
	Out            string        `json:"-"`
	binaries       site.Binaries
}

func main() {
	child.Main(name, child.Roles{site.RoleRack: site.ServeRack}, run)
}

func parseFlags() config {
	c := config{Timing: sim.Timing{POST: time.Second, OSBoot: time.Second, Shutdown: time.Second, Update: 5 * time.Second}}
	flag.IntVar(&c.Servers, "servers", 1000, "servers")
	flag.IntVar(&c.MaxUnavailable, "max-unavailable", 50, "the budget of the rollout")
	flag.DurationVar(&c.Limit, "limit", time.Hour, "give up after this long")
	options.Out(&c.Out, name)
	c.binaries.Bind()
	smoke := options.Smoke()
	flag.Parse()
	if *smoke {
		c.Servers, c.MaxUnavailable, c.Timing, c.Out = 5, 2, sim.Timing{POST: 100 * time.Millisecond, Update: 100 * time.Millisecond}, ""
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
	found, err := measure(ctx, c)
	if err != nil {
		return err
	}
	found.print(os.Stdout, c)
	return r.Finish(c.Out, found)
}

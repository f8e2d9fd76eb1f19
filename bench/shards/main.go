// Command shards measures what becomes of a fleet that several managers share (farrier-manager --shards), with managers killed again and again.
//
// Three managers onboard a site. Then one of them, drawn at random, is killed as kill -9 does, until the others look after its BMCs; it is started again,
// until all have their part; and so on. All the while machines are claimed. It ends with 1 if two managers asked a BMC in turns, a machine was switched
// on more often than its discovery and its claims account for, or a claim was lost.
//
//	go run ./bench/shards
package main

import (
	"context"
	"errors"
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
const name = "shards"

type config struct {
	BMCs     int           `json:"bmcs"`
	Managers int           `json:"managers"`
	Shards   int           `json:"shards"`
	Kills    int           `json:"kills"`
	Claims   int           `json:"claims"`
	Interval time.Duration `json:"pollIntervalNanoseconds"`
	Timing   sim.Timing    `json:"timing"`
	Seed     uint64        `json:"seed"`
	Limit    time.Duration `json:"-"`
	Out      string        `json:"-"`
	binaries site.Binaries
}

func main() {
	child.Main(name, child.Roles{site.RoleRack: site.ServeRack}, run)
}

func parseFlags() config {
	var c config
	flag.IntVar(&c.BMCs, "bmcs", 3000, "simulated BMCs, each with a server")
	flag.IntVar(&c.Managers, "managers", 3, "managers that share them")
	flag.IntVar(&c.Shards, "shards", 6, "into how many shards BMCs are divided")
	flag.IntVar(&c.Kills, "kills", 10, "how often a manager is killed")
	flag.IntVar(&c.Claims, "claims", 200, "machines that are claimed meanwhile")
	flag.DurationVar(&c.Interval, "interval", 20*time.Second, "poll interval")
	flag.Uint64Var(&c.Seed, "seed", 1, "of the choices of a manager to kill")
	flag.DurationVar(&c.Limit, "limit", time.Hour, "give up after this long")
	options.Out(&c.Out, name)
	c.binaries.Bind()
	smoke := options.Smoke()
	flag.Parse()
	c.Timing = sim.Timing{POST: time.Second, Shutdown: time.Second, OSBoot: time.Second, BootRetry: time.Second}
	if *smoke {
		c.BMCs, c.Kills, c.Claims, c.Interval, c.Out = 12, 1, 4, 2*time.Second, ""
	}
	return c
}

var errBroken = errors.New("a promise is not kept")

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
	if err := r.Finish(c.Out, found); err != nil {
		return err
	}
	if found.broken() {
		return errBroken
	}
	return nil
}

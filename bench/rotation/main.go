// Command rotation measures whether a rotation of the passwords of a fleet locks anybody out, with the manager killed again and again in
// the middle of it.
//
// A site is onboarded whose accounts lock after a few wrong passwords. All BMCs are told to rotate at once, and the manager is killed at
// random moments until it may end the work. It ends with 1 if an account is locked, or a BMC has a password that is not stored.
//
//	go run ./bench/rotation
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
const name = "rotation"

type config struct {
	Servers   int           `json:"servers"`
	Kills     int           `json:"kills"`
	Life      time.Duration `json:"longestLifeNanoseconds"`
	LockAfter int           `json:"lockAfter"`
	Seed      uint64        `json:"seed"`
	Timing    sim.Timing    `json:"timing"`
	Patience  time.Duration `json:"-"`
	Limit     time.Duration `json:"-"`
	Out       string        `json:"-"`
	binaries  site.Binaries
}

func main() {
	child.Main(name, child.Roles{site.RoleRack: site.ServeRack}, run)
}

func parseFlags() config {
	var c config
	flag.IntVar(&c.Servers, "servers", 1000, "servers, each with a BMC")
	flag.IntVar(&c.Kills, "kills", 20, "how often the manager is killed")
	flag.DurationVar(&c.Life, "life", 10*time.Second, "how long it lives between two kills at most; the time is drawn at random")
	flag.IntVar(&c.LockAfter, "lock-after", 3, "after how many wrong passwords in a row an account locks")
	flag.Uint64Var(&c.Seed, "seed", 1, "of the random moments")
	flag.DurationVar(&c.Patience, "patience", 3*time.Minute, "end when no rotation has ended for this long: a BMC that is left alone is so for an hour")
	flag.DurationVar(&c.Limit, "limit", 40*time.Minute, "give up after this long")
	options.Out(&c.Out, name)
	c.binaries.Bind()
	smoke := options.Smoke()
	flag.Parse()
	if *smoke {
		c.Servers, c.Kills, c.Life, c.Patience, c.Out = 5, 2, 2*time.Second, time.Minute, ""
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
	if found.Locked+found.Unknown+found.Failed > 0 {
		return errBroken
	}
	return nil
}

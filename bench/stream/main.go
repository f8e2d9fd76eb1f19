// Command stream measures the boot stream: how fast a fresh boot server gets the view of a manager, how soon a change is visible at boot
// servers, what a change costs, and what both ends need of memory.
//
// Manager and boot servers are processes of their own. They speak gRPC over mutual TLS on the loopback interface, as the product does. A bare
// TLS connection between the same processes says what the machine could move.
//
//	go run ./bench/stream
package main

import (
	"context"
	"flag"
	"os"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/options"
	"github.com/farrier-dev/farrier/bench/internal/result"
)

// name is what it and its result are called.
const name = "stream"

type config struct {
	Few      int           `json:"few"`
	Many     int           `json:"many"`
	Crowd    int           `json:"machinesOfTheLargestFollowing"`
	Rounds   int           `json:"rounds"`
	Burst    int           `json:"changesOfABurst"`
	Rate     int           `json:"changesPerSecond"`
	Duration time.Duration `json:"durationNanoseconds"`
	// Servers are how many boot servers follow one manager, in turn.
	Servers []int  `json:"bootServers"`
	Out     string `json:"-"`
}

// ownProcess is up to how many boot servers each have a process of their own. More than that share as many processes.
const ownProcess = 10

func main() {
	child.Main(name, child.Roles{roleManager: manageRole, roleBootServer: bootServerRole}, run)
}

func parseFlags() (c config, err error) {
	flag.IntVar(&c.Few, "few", 1_000, "machines of the smaller site")
	flag.IntVar(&c.Many, "many", 100_000, "machines of the larger site")
	flag.IntVar(&c.Crowd, "crowd", 1_000, "machines of the site with more than 10 boot servers, for each of them has them all in memory")
	flag.IntVar(&c.Rounds, "rounds", 5, "rounds of snapshots, and of bursts")
	flag.IntVar(&c.Burst, "burst", 30_000, "changes of a burst, by which the cost of one is measured")
	flag.IntVar(&c.Rate, "rate", 1_000, "changes a second while it is measured how soon they are visible")
	flag.DurationVar(&c.Duration, "duration", 15*time.Second, "for how long there are changes at that rate")
	servers := flag.String("servers", "1,10,100", "how many boot servers follow one manager while changes are watched, in turn")
	options.Out(&c.Out, name)
	smoke := options.Smoke()
	flag.Parse()
	if *smoke {
		c = config{Few: 100, Many: 500, Crowd: 100, Rounds: 1, Burst: 1_000, Rate: 200, Duration: 500 * time.Millisecond, Servers: []int{1, 2}}
		return c, nil
	}
	c.Servers, err = options.Sizes(*servers, 1)
	return c, err
}

// findings are everything that one run has found.
type findings struct {
	Snapshot snapshotFound  `json:"snapshot"`
	Memory   memoryFound    `json:"memory"`
	Cost     costFound      `json:"costOfAChange"`
	Visible  []visibleFound `json:"visible"`
}

func run(ctx context.Context) (err error) {
	c, err := parseFlags()
	if err != nil {
		return err
	}
	started := result.Begin(name, c)
	b, err := newBench(ctx, c)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(b.folder) }()
	var f findings
	if f.Snapshot, f.Memory, err = b.snapshots(ctx); err != nil {
		return err
	}
	printSnapshot(os.Stdout, c, f.Snapshot)
	printMemory(os.Stdout, c, f.Memory)
	if f.Cost, err = b.costs(ctx); err != nil {
		return err
	}
	printCost(os.Stdout, c, f.Cost)
	for _, n := range c.Servers {
		v, err := b.visible(ctx, n)
		if err != nil {
			return err
		}
		f.Visible = append(f.Visible, v)
	}
	printVisible(os.Stdout, c, f.Visible)
	if err := b.stop(); err != nil {
		return err
	}
	return started.Finish(c.Out, f)
}

// Command fleet-idle measures what it costs to look after BMCs that do nothing:
// processor time, memory, connections and requests, with some BMCs that hang and some that
// refuse connections.
//
// Three processes do it as they would in a cluster: a Kubernetes API, farrier-manager, and the
// simulated BMCs. This one only asks them what they have seen.
//
//	go run ./bench/fleet-idle
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
)

// name is what it and its result are called.
const name = "fleet-idle"

type config struct {
	BMCs      int           `json:"bmcs"`
	Hanging   float64       `json:"hangingShare"`
	Refusing  float64       `json:"refusingShare"`
	Latency   time.Duration `json:"latencyNanoseconds"`
	Interval  time.Duration `json:"pollIntervalNanoseconds"`
	Intervals int           `json:"intervals"`
	Out       string        `json:"-"`
	// Pprof is an address for the manager's profiles.
	Pprof    string `json:"-"`
	binaries site.Binaries
}

func main() {
	child.Main(name, child.Roles{roleRack: rackRole}, run)
}

func parseFlags() config {
	var c config
	flag.IntVar(&c.BMCs, "bmcs", 10_000, "simulated BMCs")
	flag.Float64Var(&c.Hanging, "hanging", 0.01, "share of BMCs that accept and never answer")
	flag.Float64Var(&c.Refusing, "refusing", 0.01, "share of BMCs that refuse connections")
	flag.DurationVar(&c.Latency, "latency", 50*time.Millisecond, "latency of an answer")
	flag.DurationVar(&c.Interval, "interval", 2*time.Minute, "poll interval")
	flag.IntVar(&c.Intervals, "intervals", 3, "poll intervals to measure, after the first look")
	options.Out(&c.Out, name)
	c.binaries.Bind()
	flag.StringVar(&c.Pprof, "pprof-address", "", "address at which the manager serves profiles of itself")
	smoke := options.Smoke()
	flag.Parse()
	if *smoke {
		c.BMCs, c.Hanging, c.Refusing, c.Latency, c.Interval, c.Intervals, c.Out = 40, 0.05, 0.05, time.Millisecond, 2*time.Second, 2, ""
	}
	return c
}

func run(ctx context.Context) error {
	c := parseFlags()
	r := result.Begin(name, c)
	f, err := measure(ctx, c)
	if err != nil {
		return err
	}
	f.print(os.Stdout)
	return r.Finish(c.Out, f)
}

// behaviour is what a BMC of the benchmark does.
type behaviour int

const (
	healthy behaviour = iota
	hanging
	refusing
)

// behaviours spreads those that misbehave over the rack.
func (c config) behaviours() []behaviour {
	all := make([]behaviour, c.BMCs)
	place := func(share float64, offset int, b behaviour) {
		n := int(share * float64(c.BMCs))
		for i := range n {
			all[(i*c.BMCs/n+offset)%c.BMCs] = b
		}
	}
	place(c.Hanging, 0, hanging)
	place(c.Refusing, 1, refusing)
	return all
}

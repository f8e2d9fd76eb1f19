// Command fleet-onboard measures how long it takes from a BMC's address to a Server that can be claimed, for more and
// more servers at once: BMC found, looked at, booted into the probe, inspected, switched off.
//
// Three processes do it as they would in a cluster: a Kubernetes API, farrier-manager, and the simulated rack with its
// registry. This one writes the Endpoints and counts.
//
//	go run ./bench/fleet-onboard
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
const name = "fleet-onboard"

type config struct {
	Sizes    []int         `json:"servers"`
	Timing   sim.Timing    `json:"timing"`
	FastPoll time.Duration `json:"fastPollNanoseconds"`
	Limit    time.Duration `json:"-"`
	Out      string        `json:"-"`
	Profiles string        `json:"-"`
	// APIProfiles is an address, too.
	APIProfiles string `json:"-"`
	binaries    site.Binaries
}

// timing is that of machines that boot in two seconds behind BMCs that answer after 50 ms.
var timing = sim.Timing{POST: time.Second, OSBoot: time.Second, Shutdown: time.Second, Latency: 50 * time.Millisecond}

func main() {
	child.Main(name, child.Roles{site.RoleRack: site.ServeRack}, run)
}

func parseFlags() (config, error) {
	c := config{Timing: timing}
	sizes := flag.String("servers", "100,1000,10000", "how many servers, one run each")
	flag.DurationVar(&c.Timing.Latency, "latency", timing.Latency, "latency of an answer of a BMC")
	flag.DurationVar(&c.FastPoll, "fast-poll", 5*time.Second, "the manager's --bmc-fast-poll")
	flag.DurationVar(&c.Limit, "limit", time.Hour, "give up a run after this long")
	options.Out(&c.Out, name)
	c.binaries.Bind()
	flag.StringVar(&c.Profiles, "pprof-address", "", "address at which the manager serves profiles of itself (default: any)")
	flag.StringVar(&c.APIProfiles, "api-pprof-address", "", "address at which the API serves profiles of itself (default: none)")
	smoke := options.Smoke()
	flag.Parse()
	if *smoke {
		*sizes, c.Timing, c.FastPoll, c.Out = "5,20", sim.Timing{Latency: time.Millisecond}, time.Second, ""
	}
	var err error
	c.Sizes, err = options.Sizes(*sizes, 1)
	return c, err
}

func run(ctx context.Context) error {
	c, err := parseFlags()
	if err != nil {
		return err
	}
	r := result.Begin(name, c)
	remove, err := c.binaries.BuildApart(ctx)
	if err != nil {
		return err
	}
	defer remove()
	var found findings
	for _, n := range c.Sizes {
		one, err := measure(ctx, c, n)
		if err != nil {
			return fmt.Errorf("%d servers: %w", n, err)
		}
		found.Runs = append(found.Runs, one)
		fmt.Fprintf(os.Stderr, "%d servers in %v\n", n, one.Took.Round(100*time.Millisecond))
	}
	found.print(os.Stdout)
	return r.Finish(c.Out, found)
}

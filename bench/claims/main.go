// Command claims measures what claims cost: one alone, and a thousand at once, over 1,000 and over 10,000 Available
// servers, by label and without. It counts servers that two claims have, and claims that got none.
//
// The claim controller runs alone in a process of its own, so that servers stay as they are written here: no machine is
// behind them. The Kubernetes API is another process; this one writes claims and watches them being bound.
//
//	go run ./bench/claims
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/options"
	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/bench/internal/result"
	"github.com/farrier-dev/farrier/bench/internal/site"
)

// name is what it and its result are called.
const name = "claims"

type config struct {
	Sizes   []int         `json:"servers"`
	Claims  int           `json:"claims"`
	Single  int           `json:"singleClaims"`
	Workers int           `json:"workers"`
	Limit   time.Duration `json:"-"`
	Out     string        `json:"-"`
	API     string        `json:"-"`
	// Profiles and APIProfiles are addresses at which the controller and the API serve profiles of themselves.
	Profiles    string `json:"-"`
	APIProfiles string `json:"-"`
}

func main() {
	child.Main(name, child.Roles{roleController: controllerRole}, run)
}

func parseFlags() (config, error) {
	var c config
	sizes := flag.String("servers", "1000,10000", "how many servers, one run each")
	flag.IntVar(&c.Claims, "claims", 1000, "claims at once; no more than servers")
	flag.IntVar(&c.Single, "single", 50, "claims one after the other")
	flag.IntVar(&c.Workers, "workers", 8, "claims that the controller reconciles at a time; 8 is what farrier-manager does")
	flag.DurationVar(&c.Limit, "limit", 10*time.Minute, "give up a run after this long")
	options.Out(&c.Out, name)
	flag.StringVar(&c.API, "api", "", "Kubernetes API to run (default: built from this tree)")
	flag.StringVar(&c.Profiles, "pprof-address", "", "address at which the controller serves profiles of itself (default: none)")
	flag.StringVar(&c.APIProfiles, "api-pprof-address", "", "address at which the API serves profiles of itself (default: none)")
	smoke := options.Smoke()
	flag.Parse()
	if *smoke {
		*sizes, c.Claims, c.Single, c.Out = "40,80", 30, 3, ""
	}
	var err error
	c.Sizes, err = options.Sizes(*sizes, max(c.Claims, c.Single))
	return c, err
}

func run(ctx context.Context) error {
	c, err := parseFlags()
	if err != nil {
		return err
	}
	r := result.Begin(name, c)
	folder, err := os.MkdirTemp("", "farrier-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if c.API == "" {
		if c.API, err = program.Build(ctx, folder, site.APIPackage); err != nil {
			return err
		}
	}
	var found findings
	for _, n := range c.Sizes {
		runs, err := measure(ctx, c, n)
		if err != nil {
			return fmt.Errorf("%d servers: %w", n, err)
		}
		found.Runs = append(found.Runs, runs...)
	}
	found.print(os.Stdout)
	return r.Finish(c.Out, found)
}

// Command boot-answers measures how many answers a boot server gives a second, beside a
// bare net/http handler that writes the same number of bytes, in the same run.
//
// It starts four servers, each in a process of its own: the bare handler, a boot
// server that knows few machines, one that knows many, and a farrier-bootserver, which gets the
// same machines from that over the boot stream. A load generator, in a fifth process,
// asks them in turns, for a random machine each time.
//
// Machines that name themselves (/config/{id}, /ipxe?labels) are counted in assignments: the
// smaller site has 50 of them and the larger 50,000.
//
// With -product it measures a whole farrier up in their place, which records the boots of its machines meanwhile.
//
//	go run ./bench/boot-answers
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/load"
	"github.com/farrier-dev/farrier/bench/internal/options"
	"github.com/farrier-dev/farrier/bench/internal/result"
)

// name is what it and its result are called.
const name = "boot-answers"

type config struct {
	Few         int           `json:"few"`
	Many        int           `json:"many"`
	FewAssign   int           `json:"fewAssignments"`
	ManyAssign  int           `json:"manyAssignments"`
	Connections int           `json:"connections"`
	Rounds      int           `json:"rounds"`
	Path        string        `json:"path,omitempty"`
	Duration    time.Duration `json:"durationNanoseconds"`
	// Ignition is how long that of each machine is, in bytes.
	Ignition int `json:"ignitionBytes"`
	// Alone leaves out the boot stream and what follows it.
	Alone   bool   `json:"alone,omitempty"`
	Product bool   `json:"product,omitempty"`
	Cycles  int    `json:"cycles,omitempty"`
	Binary  string `json:"-"`
	Out     string `json:"-"`
}

func main() {
	child.Main(name, child.Roles{roleServer: serveRole, roleLoad: loadRole}, run)
}

// connections of the load generator where no flag says how many; a whole farrier up is asked by more.
const connections, productConnections = 16, 32

func parseFlags() (config, error) {
	var c config
	flag.IntVar(&c.Few, "few", 1_000, "machines of the smaller site, and of each cycle of -product")
	flag.IntVar(&c.Many, "many", 100_000, "machines of the larger site")
	flag.IntVar(&c.FewAssign, "few-assignments", 50, "assignments of the smaller site")
	flag.IntVar(&c.ManyAssign, "many-assignments", 50_000, "assignments of the larger site")
	flag.IntVar(&c.Connections, "connections", 0, fmt.Sprintf("keep-alive connections of the load generator (default %d, with -product %d)", connections, productConnections))
	flag.IntVar(&c.Rounds, "rounds", 31, "rounds; each asks every server once")
	flag.DurationVar(&c.Duration, "duration", 300*time.Millisecond, "how long one server is asked in a round")
	flag.StringVar(&c.Path, "path", "", "the only one to ask for, as the table names it; empty: all")
	flag.IntVar(&c.Ignition, "ignition", usualIgnition, "bytes of the ignition of each machine")
	flag.BoolVar(&c.Alone, "alone", false, "leave out farrier-bootserver and the boot stream, whose records take more memory than the machines")
	flag.BoolVar(&c.Product, "product", false, "measure /ipxe/{uuid} of a whole farrier up, which records the boots meanwhile, in place of the boot server alone")
	flag.IntVar(&c.Cycles, "cycles", 1, "with -product: how often -few machines ask that have not asked before, for -rounds each")
	flag.StringVar(&c.Binary, "farrier", "", "with -product: farrier to run (default: built from this tree)")
	options.Out(&c.Out, name)
	smoke := options.Smoke()
	flag.Parse()
	if usual := flag.Lookup("out").DefValue; c.Product && c.Out == usual {
		c.Out = strings.TrimSuffix(usual, ".json") + "-product.json"
	}
	if c.Ignition < leastIgnition {
		return c, fmt.Errorf("-ignition: %d bytes are too few, at least %d", c.Ignition, leastIgnition)
	}
	if *smoke {
		c = config{Few: 10, Many: 1_000, FewAssign: 10, ManyAssign: 500, Connections: 4, Rounds: 1, Duration: 50 * time.Millisecond,
			Ignition: c.Ignition, Alone: c.Alone, Product: c.Product, Cycles: 1, Binary: c.Binary}
	}
	if c.Connections == 0 {
		c.Connections = connections
		if c.Product {
			c.Connections = productConnections
		}
	}
	return c, nil
}

func run(ctx context.Context) error {
	c, err := parseFlags()
	if err != nil {
		return err
	}
	if c.Product {
		return runProduct(ctx, c)
	}
	if c.Path != "" {
		if !slices.Contains(paths, c.Path) {
			return fmt.Errorf("-path: %q is none of %q", c.Path, paths)
		}
		paths = []string{c.Path}
	}
	started := result.Begin(name, c)
	b, err := newBench(ctx, c)
	if err != nil {
		return err
	}
	var rows []row
	for _, path := range paths {
		r, err := b.measure(ctx, path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		rows = append(rows, r)
	}
	if err := b.stop(); err != nil {
		return err
	}
	printTable(os.Stdout, c, rows)
	fmt.Printf("\nHeap: %.2f KiB a machine at %d machines, besides %d bytes of ignition%s; %.2f KiB an assignment at %d assignments.\n",
		b.heapPerMachine/1024, c.Many, c.Ignition, map[bool]string{false: " and with the records of the boot stream"}[c.Alone], b.heapPerAssignment/1024, c.ManyAssign)
	return started.Finish(c.Out, map[string]any{"rows": rows, "heapBytesPerMachine": b.heapPerMachine, "heapBytesPerAssignment": b.heapPerAssignment})
}

const roleLoad = "load"

type loadRequest struct {
	Address, Path                string
	First, Machines, Connections int
	Duration                     time.Duration
	Seed                         uint64
}

func loadRole(ctx context.Context) error {
	return child.Serve(func(r loadRequest) (load.Outcome, error) {
		return load.Run(ctx, load.Plan{
			Address: r.Address, Connections: r.Connections, Duration: r.Duration, Seed: r.Seed,
			Request: random(r.Path, r.First, r.Machines),
		})
	})
}

// Command dhcp measures whether known machines have their answers over DHCP while five thousand DISCOVERs a second arrive, most of
// them of machines that nobody knows, and how many DISCOVERs a second are answered at most, beside a bare server that decodes and encodes with the same library.
//
// The product is farrier up with --dhcp=server, in a network namespace of its own; the machines are behind a relay in another one. Linux alone has namespaces.
//
//	go run ./bench/dhcp
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/options"
	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/bench/internal/result"
)

// name is what it and its result are called.
const name = "dhcp"

type config struct {
	Duration time.Duration `json:"rowNanoseconds"`
	// Rate is how many requests a second there are in each row, Known how many machines are known.
	Rate   int    `json:"requestsPerSecond"`
	Known  int    `json:"knownMachines"`
	Rounds int    `json:"rounds"`
	Binary string `json:"-"`
	Out    string `json:"-"`
}

func main() {
	child.Main(name, child.Roles{roleMachines: serveMachines, roleEcho: serveEcho}, run)
}

func parseFlags() (c config, smoke bool, err error) {
	seconds := flag.Int("seconds", 20, "how long each row lasts")
	flag.IntVar(&c.Rate, "rate", 5000, "requests a second")
	flag.IntVar(&c.Known, "known", 4000, "machines that are known; each may ask five times a second")
	flag.IntVar(&c.Rounds, "rounds", 3, "how often the product and the bare server take turns")
	flag.StringVar(&c.Binary, "farrier", "", "farrier to run (default: built from this tree)")
	options.Out(&c.Out, name)
	small := options.Smoke()
	flag.Parse()
	if *seconds < 1 || c.Known < 1 || c.Rate < 10 || c.Rounds < 1 {
		return c, false, errors.New("-seconds, -known and -rounds have to be 1 at least, -rate 10")
	}
	if c.Duration = time.Duration(*seconds) * time.Second; *small {
		c.Duration, c.Known, c.Rate, c.Rounds, c.Out = time.Second, 100, 500, 1, ""
	}
	return c, *small, nil
}

func run(ctx context.Context) error {
	c, smoke, err := parseFlags()
	if err != nil {
		return err
	}
	if !insideNamespace() {
		err := runInside(ctx)
		if smoke && errors.Is(err, errNoNamespace) {
			fmt.Fprintf(os.Stderr, "%s: left out: %v\n", name, err)
			return nil
		}
		return err
	}
	started := result.Begin(name, c)
	f, err := measure(ctx, c)
	if err != nil {
		return err
	}
	f.print(os.Stdout, c)
	if err := started.Finish(c.Out, f); err != nil {
		return err
	}
	return f.promised()
}

// row is what was found for one load.
type row struct {
	Load string `json:"load"`
	loadAnswer
	// CPU is the processors that the server used: of the product, all of it.
	CPU float64 `json:"serverProcessors"`
	// DroppedRequests are those that the kernel threw away before the server read them.
	DroppedRequests int `json:"droppedAtTheServer"`
}

// findings are what is written to the result.
type findings struct {
	Rows []row `json:"rows"`
	// Bare is the bare server under the same number of requests: what it loses the harness loses.
	Bare row `json:"bare"`
	// Product and Echo are DISCOVERs answered a second, one round after the other, and Ratio is of their medians.
	Product []float64 `json:"productPerSecond"`
	Echo    []float64 `json:"barePerSecond"`
	Ratio   float64   `json:"ratio"`
}

func measure(ctx context.Context, c config) (f findings, err error) {
	folder, err := os.MkdirTemp("", "farrier-dhcp-")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	machines, err := startMachines(ctx)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, machines.Stop()) }()
	p, err := startProduct(ctx, c, folder)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	echo, err := child.Start(ctx, roleEcho)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, echo.Stop()) }()
	used := func() (u program.Usage, err error) {
		err = echo.Ask(struct{}{}, &u)
		return u, err
	}
	if _, err := used(); err != nil { // it listens
		return f, err
	}
	if err := machines.Ask(request{Await: true}, &loadAnswer{}); err != nil {
		return f, err
	}
	for _, l := range loads(c) {
		r, err := underLoad(p.Usage, machines, l)
		if err != nil {
			return f, fmt.Errorf("%s: %w", l.Name, err)
		}
		f.Rows = append(f.Rows, r)
	}
	bare := request{Name: "the bare server", Port: echoPort, Duration: c.Duration, Known: c.Known, KnownRate: c.Rate}
	if f.Bare, err = underLoad(used, machines, bare); err != nil {
		return f, err
	}
	return f, f.fastest(c, machines)
}

// underLoad has machines ask a server.
func underLoad(usage func() (program.Usage, error), machines *child.Process, l request) (r row, err error) {
	r.Load = l.Name
	before, err := usage()
	if err != nil {
		return r, err
	}
	drops, err := dropped(l.Port)
	if err != nil {
		return r, err
	}
	begun := time.Now()
	if err := machines.Ask(l, &r.loadAnswer); err != nil {
		return r, err
	}
	took := time.Since(begun)
	after, err := usage()
	if err != nil {
		return r, err
	}
	r.CPU = (after.CPU - before.CPU).Seconds() / took.Seconds()
	r.DroppedRequests, err = dropped(l.Port)
	r.DroppedRequests -= drops
	return r, err
}

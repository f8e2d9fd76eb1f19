// Command flood measures what a stranger can do to others by flooding: how much later another machine has its script, whether it
// ever fails to get it, and how much memory the product takes meanwhile and gives back.
//
// The product is farrier up with a simulated rack. The machine that is measured and the flood ask from two addresses of this host; the
// flood is a process of its own, of the lowest priority, and keeps to a share of one processor.
//
//	go run ./bench/flood
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/options"
	"github.com/farrier-dev/farrier/bench/internal/result"
)

// name is what it and its result are called.
const name = "flood"

type config struct {
	Duration time.Duration `json:"floodNanoseconds"`
	Baseline time.Duration `json:"baselineNanoseconds"`
	Settle   time.Duration `json:"settleNanoseconds"`
	// Share is what the flood may use of one processor.
	Share   float64 `json:"floodProcessors"`
	Servers int     `json:"simulatedServers"`
	// GOGC is the product's, in percent.
	GOGC   int    `json:"gogc"`
	Only   string `json:"only,omitempty"`
	Binary string `json:"-"`
	Out    string `json:"-"`
}

func main() {
	child.Main(name, child.Roles{roleFlood: serveFlood}, run)
}

func parseFlags() (config, error) {
	var c config
	seconds := flag.Int("seconds", 60, "how long each flood lasts")
	flag.DurationVar(&c.Settle, "settle", 150*time.Second, "how long memory may take to come back after a flood; the runtime collects every two minutes at the latest")
	flag.Float64Var(&c.Share, "share", 0.5, "processors that the flood may use; it has none of its own, and takes them from what it floods")
	flag.IntVar(&c.Servers, "servers", 3, "simulated servers")
	flag.IntVar(&c.GOGC, "gogc", 50, "the product's GOGC: left to itself it lets garbage take three times of what lives where there is memory, and that hides what a flood takes")
	flag.StringVar(&c.Only, "only", "", "measure only the floods whose name contains this")
	flag.StringVar(&c.Binary, "farrier", "", "farrier to run (default: built from this tree)")
	options.Out(&c.Out, name)
	smoke := options.Smoke()
	flag.Parse()
	if *seconds < 1 || c.Share <= 0 || c.GOGC < 1 {
		return c, errors.New("-seconds, -share and -gogc have to be more than nothing")
	}
	c.Duration = time.Duration(*seconds) * time.Second
	c.Baseline = max(c.Duration/3, time.Second)
	if *smoke {
		c.Duration, c.Baseline, c.Settle, c.Servers, c.Out = time.Second, time.Second, 0, 1, ""
	}
	return c, nil
}

func run(ctx context.Context) (err error) {
	c, err := parseFlags()
	if err != nil {
		return err
	}
	started := result.Begin(name, c)
	if err := os.Setenv("GOGC", fmt.Sprint(c.GOGC)); err != nil {
		return fmt.Errorf("GOGC: %w", err)
	}
	p, err := startProduct(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	var rows []row
	for _, f := range floods {
		if !strings.Contains(f.name, c.Only) {
			continue
		}
		target, served := f.target(p)
		if !served {
			fmt.Fprintf(os.Stderr, "%s: %s is left out: the product does not serve it\n", name, f.name)
			continue
		}
		r, err := p.measure(ctx, c, f.name, target)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		rows = append(rows, r)
	}
	printTable(os.Stdout, c, rows)
	return started.Finish(c.Out, rows)
}

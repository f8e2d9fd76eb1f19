// Command lab-memory measures how much memory a farrier up needs when it has nothing to do: with a simulated rack, and with the
// boot configs of many machines that have all booted.
//
//	go run ./bench/lab-memory
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/lab"
	"github.com/farrier-dev/farrier/bench/internal/load"
	"github.com/farrier-dev/farrier/bench/internal/options"
	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/bench/internal/result"
)

// name is what it and its result are called.
const name = "lab-memory"

// What is promised, in bytes. test/acceptance.TestBudgetOfALab holds a busy machine to a little more.
const (
	rackPromise  = 300 << 20
	bootsPromise = 350 << 20
)

// availableTimeout is how long it may take until all servers are Available.
const availableTimeout = 3 * time.Minute

type config struct {
	Servers int           `json:"servers"`
	Boots   int           `json:"boots"`
	Quiet   time.Duration `json:"quietNanoseconds"`
	Binary  string        `json:"-"`
	Out     string        `json:"-"`
}

// row is what the kernel says at one moment.
type row struct {
	What    string        `json:"what"`
	RSS     int64         `json:"rssBytes"`
	Peak    int64         `json:"peakRSSBytes"` // since the start
	CPU     time.Duration `json:"cpuNanoseconds"`
	Promise int64         `json:"promiseBytes,omitempty"`
}

func main() {
	child.Main(name, nil, run)
}

func parseFlags() (config, error) {
	var c config
	flag.IntVar(&c.Servers, "servers", 3, "servers in the simulated rack")
	flag.IntVar(&c.Boots, "boots", 1_000, "boot configs, each of which is asked for")
	flag.DurationVar(&c.Quiet, "quiet", time.Minute, "how long nothing is done before memory is read")
	flag.StringVar(&c.Binary, "farrier", "", "farrier to run (default: built from this tree)")
	options.Out(&c.Out, name)
	smoke := options.Smoke()
	flag.Parse()
	if *smoke {
		c.Boots, c.Quiet, c.Out = 10, time.Second, ""
	}
	switch {
	case c.Servers < 1:
		return c, fmt.Errorf("-servers: %d are too few, at least 1", c.Servers)
	case c.Boots < 1:
		return c, fmt.Errorf("-boots: %d are too few, at least 1", c.Boots)
	}
	return c, nil
}

func run(ctx context.Context) (err error) {
	c, err := parseFlags()
	if err != nil {
		return err
	}
	started := result.Begin(name, c)
	l, err := lab.Start(ctx, c.Binary, "--sim", strconv.Itoa(c.Servers), "--sim-address", "127.0.0.1:0", "--sim-admin-address", "127.0.0.1:0",
		"--registry-address", "127.0.0.1:0", "--boot-address", "127.0.0.1:0", "--boot-rate-limit", "0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Stop()) }()
	rows, err := measure(ctx, c, l)
	if err != nil {
		return err
	}
	printTable(os.Stdout, rows)
	return started.Finish(c.Out, map[string]any{"rows": rows})
}

func measure(ctx context.Context, c config, l *lab.Lab) (rows []row, err error) {
	read := func(what string, quiet time.Duration, promise int64) {
		if err != nil {
			return
		}
		var u program.Usage
		if err = pause(ctx, l, quiet); err == nil {
			u, err = l.Usage()
		}
		rows = append(rows, row{What: what, RSS: u.RSS, Peak: u.PeakRSS, CPU: u.CPU, Promise: promise})
	}
	if err := available(ctx, c, l); err != nil {
		return nil, err
	}
	read(fmt.Sprintf("%d servers are Available", c.Servers), 0, 0)
	read(fmt.Sprintf("%v later", c.Quiet), c.Quiet, rackPromise)
	if err != nil {
		return nil, err
	}
	if err := boot(ctx, c, l); err != nil {
		return nil, err
	}
	read(fmt.Sprintf("%d machines more have booted", c.Boots), 0, 0)
	read(fmt.Sprintf("%v later", c.Quiet), c.Quiet, bootsPromise)
	return rows, err
}

// available waits until all servers are.
func available(ctx context.Context, c config, l *lab.Lab) error {
	for end := time.Now().Add(availableTimeout); ; {
		var servers metalv1.ServerList
		if err := l.API.List(ctx, &servers); err != nil {
			return err
		}
		n := 0
		for i := range servers.Items {
			if servers.Items[i].Status.State == metalv1.ServerStateAvailable {
				n++
			}
		}
		if n >= c.Servers {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d servers are Available after %v", n, c.Servers, availableTimeout)
		}
		if err := pause(ctx, l, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// boot makes the boot configs, asks for the script of each, and waits until it is on record that each was asked for.
func boot(ctx context.Context, c config, l *lab.Lab) error {
	err := l.CreateBoots(ctx, c.Boots, func(i int) bootv1.IPXEBootConfigSpec {
		const artifacts = "http://boot.example.org/"
		return bootv1.IPXEBootConfigSpec{SystemUUID: uuid(i), KernelURL: artifacts + "kernel", InitrdURL: artifacts + "initrd"}
	})
	if err != nil {
		return err
	}
	address := strings.TrimPrefix(l.Ready["boot"], "http://")
	for i := range c.Boots {
		if _, err := load.Fetch(ctx, address, fmt.Appendf(nil, "GET /ipxe/%s HTTP/1.1\r\nHost: %s\r\n\r\n", uuid(i), address)); err != nil {
			return fmt.Errorf("script of machine %d: %w", i, err)
		}
	}
	_, _, err = l.Recorded(ctx, 0, c.Boots)
	return err
}

func uuid(i int) string { return fmt.Sprintf("6f2b1c3d-0000-4000-8000-%012x", i+1) }

// pause waits, unless the product ends.
func pause(ctx context.Context, l *lab.Lab, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-l.Exited():
		return l.Err()
	case <-time.After(d):
		return nil
	}
}

func printTable(w io.Writer, rows []row) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| \t| memory (RSS)\t| peak since the start\t| promise\t| processor time since the start\t|")
	fmt.Fprintln(t, "| ---\t| ---\t| ---\t| ---\t| ---\t|")
	for _, r := range rows {
		promise := ""
		if r.Promise != 0 {
			promise = fmt.Sprintf("≤ %d MiB", r.Promise>>20)
		}
		fmt.Fprintf(t, "| %s\t| %d MiB\t| %d MiB\t| %s\t| %.1f s\t|\n", r.What, r.RSS>>20, r.Peak>>20, promise, r.CPU.Seconds())
	}
	_ = t.Flush()
}

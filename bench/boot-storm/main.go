// Command boot-storm boots thousands of machines at once from one boot server: each fetches the chainload script, its own
// script, its own ignition and the beginning of an artifact that all of them share and that the boot server does
// not have yet; some fetch the whole of it.
//
// Registry, boot server and machines are processes of their own.
//
//	go run ./bench/boot-storm
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/origin"
	"github.com/farrier-dev/farrier/bench/internal/result"
)

type config struct {
	Machines int    `json:"machines"`
	Size     int64  `json:"artifactBytes"`
	Whole    int    `json:"wholeFetches"`
	Folder   string `json:"-"`
	Out      string `json:"-"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch child.Role() {
	case origin.Role:
		err = origin.Serve(ctx)
	case roleBootServer:
		err = serveBootServer(ctx)
	case roleMachines:
		err = serveMachines(ctx)
	default:
		err = run(ctx, parseFlags())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "boot-storm:", err)
		os.Exit(1)
	}
}

func parseFlags() config {
	var c config
	flag.IntVar(&c.Machines, "machines", 10_000, "machines that boot at once, a connection each")
	flag.Int64Var(&c.Size, "size", 200_000_000, "bytes of the artifact")
	flag.IntVar(&c.Whole, "whole", 100, "how many of the machines fetch the whole artifact; the others its first 64 KiB")
	flag.StringVar(&c.Folder, "folder", "", "folder for the artifact and the cache (default: a temporary one)")
	flag.StringVar(&c.Out, "out", "bench/results/boot-storm.json", "file for the result; empty: none")
	smoke := flag.Bool("smoke", false, "a small and short run that shows only that it works; writes no file")
	flag.Parse()
	if *smoke {
		c.Machines, c.Size, c.Whole, c.Out = 200, 4<<20, 10, ""
	}
	return c
}

// findings are what is written to the result.
type findings struct {
	stormAnswer
	// Upstream is what the registry sent, per artifact.
	Upstream float64 `json:"upstreamPerArtifact"`
	// ScriptP99ToMedian is the tail of the answers that nothing has to be fetched for.
	ScriptP99ToMedian float64 `json:"scriptP99ToMedian"`
	PeakRSS           int64   `json:"bootServerPeakRSSBytes"`
}

func run(ctx context.Context, c config) (err error) {
	started := result.Result{Name: "boot-storm", Date: time.Now().UTC().Truncate(time.Second), Machine: result.ThisMachine(), Config: c}
	folder, err := os.MkdirTemp(c.Folder, "boot-storm-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	c.Folder = folder
	f, err := measure(ctx, c)
	if err != nil {
		return err
	}
	f.print(os.Stdout, c)
	if c.Out != "" {
		started.Findings = f
		if err := started.Write(c.Out); err != nil {
			return err
		}
	}
	if f.Failed > 0 {
		return fmt.Errorf("%d answers failed, the first: %s", f.Failed, f.First)
	}
	return nil
}

func measure(ctx context.Context, c config) (f findings, err error) {
	o, err := origin.Start(ctx, origin.Config{Size: c.Size, Folder: c.Folder})
	if err != nil {
		return f, err
	}
	server, err := child.Start(ctx, roleBootServer)
	if err != nil {
		return f, err
	}
	var at bootServerAnswer
	if err := server.Ask(bootServerRequest{o.Address, filepath.Join(c.Folder, "cache"), c.Machines}, &at); err != nil {
		return f, err
	}
	machines, err := child.Start(ctx, roleMachines)
	if err != nil {
		return f, err
	}
	storm := stormRequest{Address: at.Address, Artifact: o.ImagePath(), Machines: c.Machines, Size: c.Size, Whole: c.Whole}
	if err := machines.Ask(storm, &f.stormAnswer); err != nil {
		return f, err
	}
	sent, err := o.Sent()
	if err != nil {
		return f, err
	}
	f.Upstream = float64(sent) / float64(c.Size)
	if err := server.Ask(bootServerRequest{}, &at); err != nil {
		return f, err
	}
	f.PeakRSS = at.PeakRSS
	if median := f.Steps[stepScript].P50; median > 0 {
		f.ScriptP99ToMedian = float64(f.Steps[stepScript].P99) / float64(median)
	}
	return f, errors.Join(machines.Stop(), server.Stop(), o.Stop())
}

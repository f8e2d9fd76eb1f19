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
	"path/filepath"

	"github.com/farrier-dev/farrier/bench/internal/bootserver"
	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/options"
	"github.com/farrier-dev/farrier/bench/internal/origin"
	"github.com/farrier-dev/farrier/bench/internal/result"
)

// name is what it and its result are called.
const name = "boot-storm"

type config struct {
	Machines int    `json:"machines"`
	Size     int64  `json:"artifactBytes"`
	Whole    int    `json:"wholeFetches"`
	Folder   string `json:"-"`
	Out      string `json:"-"`
}

func main() {
	child.Main(name, child.Roles{origin.Role: origin.Serve, bootserver.Role: bootserver.Serve(machine), roleMachines: serveMachines}, run)
}

func parseFlags() config {
	var c config
	flag.IntVar(&c.Machines, "machines", 10_000, "machines that boot at once, a connection each")
	flag.Int64Var(&c.Size, "size", 200_000_000, "bytes of the artifact")
	flag.IntVar(&c.Whole, "whole", 100, "how many of the machines fetch the whole artifact; the others its first 64 KiB")
	flag.StringVar(&c.Folder, "folder", "", "folder for the artifact and the cache (default: a temporary one)")
	options.Out(&c.Out, name)
	smoke := options.Smoke()
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

func run(ctx context.Context) (err error) {
	c := parseFlags()
	started := result.Begin(name, c)
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
	if err := started.Finish(c.Out, f); err != nil {
		return err
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
	server, err := bootserver.Start(ctx, bootserver.Config{
		Registry: o.Address, Folder: filepath.Join(c.Folder, "cache"), Machines: c.Machines, Repository: origin.Repository, Layer: o.Digest, Size: c.Size,
	})
	if err != nil {
		return f, err
	}
	machines, err := child.Start(ctx, roleMachines)
	if err != nil {
		return f, err
	}
	storm := stormRequest{Address: server.Address, Artifact: o.ImagePath(), Machines: c.Machines, Size: c.Size, Whole: c.Whole}
	if err := machines.Ask(storm, &f.stormAnswer); err != nil {
		return f, err
	}
	sent, err := o.Sent()
	if err != nil {
		return f, err
	}
	f.Upstream = float64(sent) / float64(c.Size)
	used, err := server.Stop()
	if err != nil {
		return f, err
	}
	f.PeakRSS = used.PeakRSS
	if median := f.Steps[stepScript].P50; median > 0 {
		f.ScriptP99ToMedian = float64(f.Steps[stepScript].P99) / float64(median)
	}
	return f, errors.Join(machines.Stop(), o.Stop())
}

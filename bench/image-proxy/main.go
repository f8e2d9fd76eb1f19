// Command image-proxy measures how fast a boot server passes on a layer of an image: one that it has, beside nginx
// serving the same file, and one that it does not have, beside the registry itself.
//
// Registry, boot server, nginx and clients are processes of their own. They take turns within one run. Without
// nginx (Debian: apt-get install nginx-light) its rows are left out, and it says so.
//
//	go run ./bench/image-proxy
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/origin"
	"github.com/farrier-dev/farrier/bench/internal/result"
)

type config struct {
	Size       int64         `json:"layerBytes"`
	Clients    int           `json:"clients"`
	Rounds     int           `json:"rounds"`
	ColdRounds int           `json:"coldRounds"`
	Duration   time.Duration `json:"durationNanoseconds"`
	Rate       int64         `json:"registryBytesPerSecond"`
	Nginx      string        `json:"-"`
	Folder     string        `json:"-"`
	Out        string        `json:"-"`
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
	case roleClients:
		err = serveClients(ctx)
	default:
		err = run(ctx, parseFlags())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "image-proxy:", err)
		os.Exit(1)
	}
}

func parseFlags() config {
	var c config
	flag.Int64Var(&c.Size, "size", 1<<30, "bytes of the layer")
	flag.IntVar(&c.Clients, "clients", 32, "clients at the same time, beside the rows of one")
	flag.IntVar(&c.Rounds, "rounds", 31, "rounds with a cached layer; each asks every server once")
	flag.IntVar(&c.ColdRounds, "cold-rounds", 3, "rounds with a layer that is not cached")
	flag.DurationVar(&c.Duration, "duration", 500*time.Millisecond, "how long one server is asked in a round")
	flag.Int64Var(&c.Rate, "rate", 125_000_000, "bytes per second of the registry, in the cold rounds")
	flag.StringVar(&c.Nginx, "nginx", "/usr/sbin/nginx", "nginx; empty: none")
	flag.StringVar(&c.Folder, "folder", "", "folder for the layer and the caches (default: a temporary one)")
	flag.StringVar(&c.Out, "out", "bench/results/image-proxy.json", "file for the result; empty: none")
	smoke := flag.Bool("smoke", false, "a small and short run that shows only that it works; writes no file")
	flag.Parse()
	if *smoke {
		c.Size, c.Clients, c.Rounds, c.ColdRounds, c.Duration, c.Out = 16<<20, 4, 1, 1, 100*time.Millisecond, ""
	}
	return c
}

func run(ctx context.Context, c config) (err error) {
	started := result.Result{Name: "image-proxy", Date: time.Now().UTC().Truncate(time.Second), Machine: result.ThisMachine(), Config: c}
	folder, err := os.MkdirTemp(c.Folder, "image-proxy-")
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
	if c.Out == "" {
		return nil
	}
	started.Findings = f
	return started.Write(c.Out)
}

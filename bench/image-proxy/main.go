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
	"os"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/bootserver"
	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/options"
	"github.com/farrier-dev/farrier/bench/internal/origin"
	"github.com/farrier-dev/farrier/bench/internal/result"
)

// name is what it and its result are called.
const name = "image-proxy"

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
	child.Main(name, child.Roles{origin.Role: origin.Serve, bootserver.Role: bootserver.Serve(nil), roleClients: serveClients}, run)
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
	options.Out(&c.Out, name)
	smoke := options.Smoke()
	flag.Parse()
	if *smoke {
		c.Size, c.Clients, c.Rounds, c.ColdRounds, c.Duration, c.Out = 16<<20, 4, 1, 1, 100*time.Millisecond, ""
	}
	return c
}

func run(ctx context.Context) (err error) {
	c := parseFlags()
	started := result.Begin(name, c)
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
	return started.Finish(c.Out, f)
}

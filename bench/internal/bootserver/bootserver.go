package bootserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/image/blobcache"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// Role is the role of the child process that is the boot server. A benchmark's main calls Serve for it.
const Role = "boot-server"

// Config says what the boot server serves.
type Config struct {
	// Registry is the address of the only registry that it may ask, by plain HTTP, and Folder its cache.
	Registry, Folder string
	// Layer is the digest of a layer that machines are going to boot, in Repository; empty: none.
	Layer, Repository string
	// Size is that of the layer.
	Size int64
	// Machines is how many of the benchmark's machines it knows.
	Machines int
}

// Machine is the entry of machine i of a boot server whose URL is given.
type Machine func(i int, url string) (bootview.Entry, error)

// request starts the boot server, the first time, and asks what it has used, ever after.
type request struct{ Config *Config }

type answer struct {
	Address string
	program.Usage
}

// Server is a running one.
type Server struct {
	Address string
	// Idle is what it has used before anybody asked it for anything.
	Idle    program.Usage
	process *child.Process
}

// Start starts a boot server.
func Start(ctx context.Context, c Config) (*Server, error) {
	p, err := child.Start(ctx, Role)
	if err != nil {
		return nil, err
	}
	var a answer
	err = p.Ask(request{&c}, &a)
	return &Server{Address: a.Address, Idle: a.Usage, process: p}, err
}

// Stop ends the server and says what it has used.
func (s *Server) Stop() (program.Usage, error) {
	var a answer
	if err := s.process.Ask(request{}, &a); err != nil {
		return a.Usage, err
	}
	return a.Usage, s.process.Stop()
}

// Serve is the boot server's side.
func Serve(machine Machine) func(context.Context) error {
	return func(ctx context.Context) error {
		address := ""
		return child.Serve(func(r request) (a answer, err error) {
			if r.Config != nil {
				if address, err = listen(ctx, *r.Config, machine); err != nil {
					return a, err
				}
			}
			a.Address = address
			a.Usage, err = program.UsageOf(os.Getpid())
			return a, err
		})
	}
}

func listen(ctx context.Context, c Config, machine Machine) (string, error) {
	blobs, err := blobcache.New(blobcache.Options{
		Options: registry.Options{AllowedRegistries: []string{c.Registry}, PlainHTTP: []string{c.Registry}, Logger: logr.Discard()},
		Dir:     c.Folder,
	})
	if err != nil {
		return "", err
	}
	if c.Layer != "" {
		plan := registry.Plan{Registry: c.Registry, Repository: c.Repository, Tag: "v1", Kernel: &registry.Layer{Digest: c.Layer, Size: c.Size}}
		if err := blobs.Pin("bench", registry.Pin{Plan: plan}); err != nil {
			return "", fmt.Errorf("pin: %w", err)
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	url := "http://" + l.Addr().String()
	view := bootview.New()
	for i := range c.Machines {
		e, err := machine(i, url)
		if err != nil {
			return "", fmt.Errorf("machine %d: %w", i, err)
		}
		view.Put(e)
	}
	view.SetSynced(true)
	s, err := bootserver.New(bootserver.Config{
		View: view, Blobs: blobs, BootURL: url, Deliver: func(bootserver.Delivery) {}, Logger: logr.Discard(),
	})
	if err != nil {
		return "", err
	}
	go func() {
		if err := errors.Join(s.Serve(ctx, l), blobs.Close()); err != nil {
			fmt.Fprintln(os.Stderr, "boot-server:", err)
			os.Exit(1)
		}
	}()
	return l.Addr().String(), nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/origin"
	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/image"
)

const roleBootServer = "boot-server"

// bootServerRequest starts the boot server, the first time, and asks what it has used, ever after.
type bootServerRequest struct{ Registry, Folder string }

type bootServerAnswer struct {
	Address string
	program.Usage
}

// bootServer is one with an empty cache at its start.
type bootServer struct {
	process *child.Process
	address string
	idle    program.Usage
}

func startBootServer(ctx context.Context, o *origin.Origin, folder string) (*bootServer, error) {
	p, err := child.Start(ctx, roleBootServer)
	if err != nil {
		return nil, err
	}
	var a bootServerAnswer
	err = p.Ask(bootServerRequest{o.Address, folder}, &a)
	return &bootServer{p, a.Address, a.Usage}, err
}

// stop ends it and returns by how much its memory has grown at most.
func (s *bootServer) stop() (grown int64, err error) {
	var a bootServerAnswer
	if err := s.process.Ask(bootServerRequest{}, &a); err != nil {
		return 0, err
	}
	return a.PeakRSS - s.idle.RSS, s.process.Stop()
}

func serveBootServer(ctx context.Context) error {
	address := ""
	return child.Serve(func(r bootServerRequest) (a bootServerAnswer, err error) {
		if address == "" {
			if address, err = listen(ctx, r); err != nil {
				return a, err
			}
		}
		a.Address = address
		a.Usage, err = program.UsageOf(os.Getpid())
		return a, err
	})
}

func listen(ctx context.Context, r bootServerRequest) (string, error) {
	blobs, err := image.NewBlobs(image.Options{
		AllowedRegistries: []string{r.Registry}, PlainHTTP: []string{r.Registry}, Dir: r.Folder, Logger: logr.Discard(),
	})
	if err != nil {
		return "", err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	address := l.Addr().String()
	view := bootview.New()
	view.SetSynced(true)
	s, err := bootserver.New(bootserver.Config{
		View: view, Blobs: blobs, BootURL: "http://" + address, Deliver: func(bootserver.Delivery) {}, Logger: logr.Discard(),
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
	return address, nil
}

// nginxConfig is what its own documentation recommends for large files.
const nginxConfig = `daemon off; worker_processes auto; pid %[1]s/nginx.pid; error_log %[1]s/nginx.log;
events { worker_connections 1024; }
http {
  sendfile on; tcp_nopush on; access_log off; default_type application/octet-stream;
  client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
  server { listen %[2]s; location /blob { alias %[3]s; } }
}
`

// startNginx serves one file at any path. It returns nothing where there is no nginx.
func startNginx(ctx context.Context, binary, folder, file string) (*program.Program, string, error) {
	path, err := exec.LookPath(binary)
	if err != nil {
		fmt.Println("No nginx (Debian: apt-get install nginx-light): its rows are left out.")
		return nil, "", nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("a free port: %w", err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, "", fmt.Errorf("a free port: %w", err)
	}
	conf := filepath.Join(folder, "nginx.conf")
	text := fmt.Appendf(nil, nginxConfig, folder, address, file)
	if os.Getuid() == 0 {
		text = append([]byte("user root;\n"), text...) // else its workers are somebody who may not read the folder
	}
	if err := os.WriteFile(conf, text, 0o600); err != nil {
		return nil, "", err
	}
	p, err := program.Start(ctx, path, func(string) {}, "-p", folder, "-c", conf, "-e", filepath.Join(folder, "nginx.log"))
	if err != nil {
		return nil, "", err
	}
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return p, address, conn.Close()
		}
		select {
		case <-p.Exited():
			return nil, "", p.Err()
		case <-ctx.Done():
			return nil, "", ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

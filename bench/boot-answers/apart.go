package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/bench/internal/site"
	"github.com/farrier-dev/farrier/bench/internal/streaming"
)

const (
	bootServerPackage = "github.com/farrier-dev/farrier/cmd/farrier-bootserver"
	// readyTimeout is far beyond what a snapshot takes.
	readyTimeout = 2 * time.Minute
)

// apart is a farrier-bootserver that follows another process.
type apart struct {
	*program.Program
	address, ready string
}

// startApart builds and starts one that follows the boot stream at an address, with all of it in folder, and waits until it has everything.
func startApart(ctx context.Context, folder string, c streaming.Certificates, stream string) (*apart, error) {
	binary, err := program.Build(ctx, folder, bootServerPackage)
	if err != nil {
		return nil, err
	}
	addresses, err := site.FreeAddresses(ctx, 2)
	if err != nil {
		return nil, err
	}
	p := &apart{address: addresses[0], ready: "http://" + addresses[1] + "/readyz"}
	p.Program, err = program.Start(ctx, binary, func(string) {},
		"--managers="+stream, "--manager-name="+streaming.ManagerName, "--certificates-dir="+c.BootServer, "--data-dir="+filepath.Join(folder, "data"),
		"--boot-address="+p.address, "--health-address="+addresses[1], "--boot-url="+bootURL, "--trusted-forwarders=127.0.0.0/8", "--boot-rate-limit=0",
	)
	if err != nil {
		return nil, err
	}
	if err := p.await(ctx); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// await waits until it is ready.
func (p *apart) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.ready, nil)
		if err != nil {
			return err
		}
		if answer, err := http.DefaultClient.Do(request); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ticker.C:
		case <-p.Exited():
			return p.Err()
		case <-ctx.Done():
			return fmt.Errorf("farrier-bootserver is not ready: %w", ctx.Err())
		}
	}
}

// newFolder is one for the certificates and the data of a run.
func newFolder() (string, error) { return os.MkdirTemp("", "farrier-boot-answers-") }

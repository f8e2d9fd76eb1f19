package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc/credentials"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/streaming"
	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/records"
	"github.com/farrier-dev/farrier/internal/bootstream/sealed"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootstream/viewfile"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// The boot servers' side: one process, of one boot server or of several.
const roleBootServer = "boot-server"

type bootServerRequest struct {
	// Certificates is the folder of the boot server's.
	Certificates string
	// Bare is the address to read so many Bytes from.
	Bare  string
	Bytes int64
	// Follow is the address of a manager that so many boot servers follow from now on. They keep their views in folders of Disk; empty:
	// in memory alone.
	Follow string
	Count  int
	Disk   string
	// Until is the counter up to which all of them are to have everything before the answer.
	Until uint64
	// Watch begins, or begins again, to note how soon changes are visible.
	Watch bool
	// Memory asks what is needed of it.
	Memory bool
}

type bootServerAnswer struct {
	// Elapsed is how long the bytes took, or the snapshots.
	Elapsed time.Duration
	// Seen is how many changes were visible after so many times 10 µs.
	Seen map[int64]int
	Used used
	Heap int64
}

func bootServerRole(ctx context.Context) error {
	var p bootServers
	return child.Serve(func(r bootServerRequest) (a bootServerAnswer, err error) {
		switch {
		case r.Bare != "":
			a.Elapsed, err = readBare(ctx, r)
		case r.Follow != "":
			a.Elapsed, err = p.follow(ctx, r)
		case r.Until > 0:
			if err = p.await(ctx, r.Until); err == nil {
				a.Seen = p.seen()
			}
		case r.Watch:
			p.watch()
		case r.Memory:
			a.Heap = heap()
		}
		if err == nil {
			a.Used, err = usage()
		}
		return a, err
	})
}

// readBare says how long so many bytes take over a TLS connection, handshake included.
func readBare(ctx context.Context, r bootServerRequest) (time.Duration, error) {
	config, err := streaming.ClientConfig(r.Certificates)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", r.Bare)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.CopyN(io.Discard, conn, r.Bytes); err != nil {
		return 0, fmt.Errorf("bare connection: %w", err)
	}
	return time.Since(start), nil
}

// bootServers are those of a process.
type bootServers struct {
	all []*bootServer
}

// bootServer notes when a change is visible in its view.
type bootServer struct {
	*records.Views
	follower *bootstream.Follower
	synced   chan struct{}
	watching atomic.Bool

	mu   sync.Mutex
	seen map[int64]int
}

// follow has boot servers follow a manager and says how long it takes until all have everything.
func (p *bootServers) follow(ctx context.Context, r bootServerRequest) (time.Duration, error) {
	config, err := streaming.ClientConfig(r.Certificates)
	if err != nil {
		return 0, err
	}
	for i := range r.Count {
		b, err := newBootServer(config, r, i)
		if err != nil {
			return 0, err
		}
		p.all = append(p.all, b)
	}
	start := time.Now()
	for _, b := range p.all {
		go func() { _ = b.follower.Run(ctx) }()
	}
	for _, b := range p.all {
		select {
		case <-b.synced:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return time.Since(start), nil
}

func newBootServer(config *tls.Config, r bootServerRequest, i int) (*bootServer, error) {
	b := &bootServer{
		Views:  records.NewViews(bootview.New(), profile.NewView(clock.RealClock{}, nil), &bootview.Instances{}, nil),
		synced: make(chan struct{}), seen: map[int64]int{},
	}
	o := bootstream.FollowerOptions{
		Managers: []string{r.Follow}, Credentials: credentials.NewTLS(config), Instance: strconv.Itoa(i), Applier: b, Logger: logr.Discard(),
	}
	if r.Disk != "" {
		file, err := createFile(filepath.Join(r.Disk, strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		o.Keeper = file
	}
	b.follower = bootstream.NewFollower(o)
	return b, nil
}

// createFile makes a file for a view, which nobody is going to read.
func createFile(folder string) (*viewfile.File, error) {
	dir, err := sealed.OpenDir(folder)
	if err != nil {
		return nil, err
	}
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	key, err := sealed.ParseKey(raw)
	if err != nil {
		return nil, err
	}
	return viewfile.Create(dir, key, logr.Discard())
}

// Apply implements bootstream.Applier. What is applied is visible when whoever asks the view finds it.
func (b *bootServer) Apply(r *streampb.Record) error {
	if err := b.Views.Apply(r); err != nil || !b.watching.Load() {
		return err
	}
	m, status := b.Machines.ByUUID(r.GetMachine().GetUuid())
	if status != bootview.Found {
		return nil
	}
	if ordered, ok := orderedAt(m.Attempt().ID); ok {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.seen[int64(time.Since(ordered)/unit)]++
	}
	return nil
}

// SetSynced implements bootstream.Applier.
func (b *bootServer) SetSynced(synced bool) {
	b.Views.SetSynced(synced)
	if synced {
		close(b.synced)
	}
}

// watch begins to note how soon changes are visible.
func (p *bootServers) watch() {
	p.seen()
	for _, b := range p.all {
		b.watching.Store(true)
	}
}

// seen hands over what was noted.
func (p *bootServers) seen() map[int64]int {
	all := map[int64]int{}
	for _, b := range p.all {
		b.mu.Lock()
		for after, n := range b.seen {
			all[after] += n
		}
		b.seen = map[int64]int{}
		b.mu.Unlock()
	}
	return all
}

// patience is far beyond what a boot server on the same machine takes.
const patience = time.Minute

// await waits until all boot servers have come to a counter.
func (p *bootServers) await(ctx context.Context, counter uint64) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for _, b := range p.all {
		for b.follower.State().Counter < counter {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return fmt.Errorf("a boot server has come to %d, not to %d: %w", b.follower.State().Counter, counter, ctx.Err())
			}
		}
	}
	return nil
}

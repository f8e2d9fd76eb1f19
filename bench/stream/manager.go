package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"runtime"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/streaming"
	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/records"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
)

// The manager's side. The first request says with what to begin; each later one makes changes, or asks what has been used.
const roleManager = "manager"

type managerRequest struct {
	// Machines are how many there are, and Certificates the folder of the manager's.
	Machines     int
	Certificates string
	// Burst is how many changes to make as fast as a boot server takes them.
	Burst int
	// Rate is how many changes to make a second, and Duration for how long.
	Rate     int
	Duration time.Duration
}

type managerAnswer struct {
	// Address is that of the boot stream, and Bare that of a TLS connection over which as many bytes come as a snapshot has.
	Address, Bare string
	// Bytes are those of all records; JournalHeap is what the journal needs beside the view.
	Bytes, JournalHeap, ViewHeap int64
	// Made are how many changes were made, Elapsed how long that took, and Counter is that of the last.
	Made    int
	Elapsed time.Duration
	Counter uint64
	Used    used
}

func manageRole(ctx context.Context) error {
	var m *manager
	return child.Serve(func(r managerRequest) (a managerAnswer, err error) {
		switch {
		case m == nil:
			m, err = startManager(ctx, r)
			if err != nil {
				return a, err
			}
			a = m.started
		case r.Burst > 0:
			a, err = m.burst(ctx, r.Burst)
		case r.Rate > 0:
			a, err = m.steady(r.Rate, r.Duration)
		}
		if err == nil {
			a.Used, err = usage()
		}
		return a, err
	})
}

// manager is the part of a manager between its controllers and the network.
type manager struct {
	view    *bootview.View
	journal *bootstream.Journal
	server  *streaming.Manager
	changes changes
	reached chan struct{}
	started managerAnswer
}

// sizes sums up how long records are, until that is known.
type sizes struct {
	*bootstream.Journal
	known bool
	bytes int64
}

func (s *sizes) Put(site string, r *streampb.Record) {
	if !s.known {
		s.bytes += int64(proto.Size(r))
	}
	s.Journal.Put(site, r)
}

func startManager(ctx context.Context, r managerRequest) (*manager, error) {
	m := &manager{view: bootview.New(), journal: bootstream.NewJournal(), changes: changes{machines: r.Machines}, reached: make(chan struct{}, 1)}
	before := heap()
	alone := bootview.New()
	if err := fill(alone, r.Machines); err != nil {
		return nil, err
	}
	m.started.ViewHeap = heap() - before
	runtime.KeepAlive(alone)
	before = heap()
	sink := &sizes{Journal: m.journal}
	records.NewSource(sink).ObserveView(m.view)
	if err := fill(m.view, r.Machines); err != nil {
		return nil, err
	}
	sink.known = true
	m.started.Bytes = sink.bytes
	m.started.JournalHeap = heap() - before - m.started.ViewHeap
	return m, m.serve(ctx, r.Certificates)
}

// serve serves the boot stream, and beside it bare connections.
func (m *manager) serve(ctx context.Context, certificates string) (err error) {
	m.server, err = streaming.Serve(ctx, certificates, m.journal, func([]string) {
		select {
		case m.reached <- struct{}{}:
		default: // somebody is told already
		}
	})
	if err != nil {
		return err
	}
	bare, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	m.started.Address, m.started.Bare = m.server.Address, bare.Addr().String()
	go streaming.Ended(func() error { return serveBare(tls.NewListener(bare, m.server.TLS), m.started.Bytes) })
	return nil
}

// serveBare writes so many bytes to everybody who connects.
func serveBare(l net.Listener, size int64) error {
	block := []byte(strings.Repeat("x", 256<<10))
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer func() { _ = conn.Close() }()
			for left := size; left > 0; {
				n, err := conn.Write(block[:min(left, int64(len(block)))])
				if left -= int64(n); err != nil {
					return // whoever reads says so
				}
			}
		}()
	}
}

// change makes the next change, which was ordered at a time.
func (m *manager) change(at time.Time) (key string, err error) {
	e, err := m.changes.next(at)
	if err != nil {
		return "", err
	}
	m.view.Put(e)
	return e.Name, nil
}

// ahead is how many changes of a burst a boot server may be behind: fewer than lie between two changes of a machine at the smaller site, for
// a change of a machine that has changed again is not sent.
const ahead = 16

// burst makes changes as fast as a boot server takes them.
func (m *manager) burst(ctx context.Context, count int) (managerAnswer, error) {
	start := time.Now()
	for made := range count {
		key, err := m.change(time.Now())
		if err != nil {
			return managerAnswer{}, err
		}
		if made%ahead != ahead-1 {
			continue
		}
		if err := m.await(ctx, key); err != nil {
			return managerAnswer{}, err
		}
	}
	return managerAnswer{Made: count, Elapsed: time.Since(start), Counter: m.journal.Counter()}, nil
}

// await waits until a boot server has a record.
func (m *manager) await(ctx context.Context, key string) error {
	for {
		if reach, _ := m.server.Reach(key); reach == bootstream.Reached {
			return nil
		}
		select {
		case <-m.reached:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// steady makes changes at a rate. A change that comes late was ordered when it was due.
func (m *manager) steady(rate int, duration time.Duration) (managerAnswer, error) {
	pause := time.Second / time.Duration(rate)
	ticker := time.NewTicker(max(pause, time.Millisecond))
	defer ticker.Stop()
	start := time.Now()
	made := 0
	for due := start; due.Before(start.Add(duration)); {
		now := <-ticker.C
		for ; !due.After(now) && due.Before(start.Add(duration)); due = due.Add(pause) {
			if _, err := m.change(due); err != nil {
				return managerAnswer{}, err
			}
			made++
		}
	}
	return managerAnswer{Made: made, Elapsed: time.Since(start), Counter: m.journal.Counter()}, nil
}

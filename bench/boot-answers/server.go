package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/streaming"
	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/records"
	"github.com/farrier-dev/farrier/internal/bootview"
)

// The server's side runs in a process of its own, which is told what to be by its first
// request, and asked what it has used by all others.
const roleServer = "server"

type serverRequest struct {
	Machines    int // a boot server with that many machines
	Ignition    int // the bytes of that of each machine
	Assignments int // and that many that name themselves
	BareSize    int // a bare handler that writes that many bytes
	// Certificates is the folder of those of a manager, which serves what the boot server knows on the boot stream; empty: nobody does.
	Certificates string
}

type serverAnswer struct {
	Address string
	// Stream is the address of the boot stream.
	Stream string
	// Processor time and allocations of the process since it started.
	CPU     time.Duration
	Mallocs uint64
	// HeapPerMachine is what the view costs, besides ignition payloads.
	HeapPerMachine float64
	// HeapPerAssignment is what the index of assignments costs.
	HeapPerAssignment float64
}

func serveRole(ctx context.Context) error {
	var started *serverAnswer
	return child.Serve(func(request serverRequest) (serverAnswer, error) {
		if started == nil {
			a, err := startServer(ctx, request)
			started = &a
			return a, err
		}
		a := *started
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		a.Mallocs = memory.Mallocs
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			return a, fmt.Errorf("getrusage: %w", err)
		}
		a.CPU = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		return a, nil
	})
}

func startServer(ctx context.Context, request serverRequest) (serverAnswer, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return serverAnswer{}, fmt.Errorf("listen: %w", err)
	}
	a := serverAnswer{Address: l.Addr().String()}
	if request.Machines == 0 {
		serveBare(l, request.BareSize)
		return a, nil
	}
	var source *records.Source
	if request.Certificates != "" {
		journal := bootstream.NewJournal()
		manager, err := streaming.Serve(ctx, request.Certificates, journal, nil)
		if err != nil {
			return a, err
		}
		source, a.Stream = records.NewSource(journal), manager.Address
	}
	before := heap()
	view, err := fill(request.Machines, request.Ignition, source)
	if err != nil {
		return a, err
	}
	a.HeapPerMachine = float64(heap()-before)/float64(request.Machines) - float64(request.Ignition)
	before = heap()
	profiles, err := assign(request.Assignments, source)
	if err != nil {
		return a, err
	}
	a.HeapPerAssignment = (float64(heap()) - float64(before)) / float64(request.Assignments)
	// What machines are given is kept, as a manager does; a farrier-bootserver tells it a manager.
	history := &bootview.History{}
	s, err := bootserver.New(bootserver.Config{
		View: view, Profiles: profiles, BootURL: bootURL,
		TrustedForwarders: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Deliver:           history.Record,
		Logger:            logr.Discard(),
	})
	if err != nil {
		return a, err
	}
	go ended(func() error { return s.Serve(ctx, l) })
	return a, nil
}

func fill(machines, ignition int, source *records.Source) (*bootview.View, error) {
	view := bootview.New()
	if source != nil {
		source.ObserveView(view)
	}
	for i := range machines {
		entries, err := machine(i, ignition)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			view.Put(e)
		}
	}
	view.SetSynced(true)
	return view, nil
}

// serveBare is what everything is measured against: net/http with the timeouts that any
// server has, and a handler that does nothing but write.
func serveBare(l net.Listener, size int) {
	body, length := make([]byte, size), strconv.Itoa(size)
	s := &http.Server{
		ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Length", length)
			_, _ = w.Write(body)
		}),
	}
	go ended(func() error { return s.Serve(l) })
}

// ended ends the process when its server ends with an error: there is nothing left to
// measure.
func ended(serve func() error) {
	if err := serve(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintln(os.Stderr, "boot-answers:", err)
		os.Exit(1)
	}
}

func heap() uint64 {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.HeapAlloc
}

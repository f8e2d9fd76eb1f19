package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/sim"
)

const (
	username, password = "admin", "hammer-and-anvil"
	// refusingPort is where nobody listens.
	refusingPort = 1
)

// The fleet is told its BMCs by its first request, and asked how it stands by all
// others.
const roleFleet = "fleet"

type fleetRequest struct {
	Config *config // nil: only how it stands
	BMCs   []sim.BMCInfo
	// Since is asked about: how many healthy BMCs answered after it.
	Since time.Time
}

type fleetAnswer struct {
	Known    int // healthy BMCs with manager, system and inventory
	Answered int // healthy BMCs that answered since
	OldestMS int64
	// Failing are BMCs of the other kinds whose observation says so.
	Failing int
	CPU     time.Duration
	RSS     int64 // bytes
	PeakRSS int64
}

func fleetRole(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var f *fleet.Fleet
	var keys []fleet.Key
	var kinds []behaviour
	return child.Serve(func(request fleetRequest) (fleetAnswer, error) {
		if request.Config != nil {
			f = fleet.New(fleet.Options{Logger: logr.Discard(), PollInterval: request.Config.Interval})
			running.Go(func() { _ = f.Run(ctx) }) // it can only have been started before
			keys, kinds = meet(f, request), request.Config.behaviours()
		}
		return stand(f, keys, kinds, request.Since)
	})
}

// meet puts all BMCs into the fleet.
func meet(f *fleet.Fleet, request fleetRequest) []fleet.Key {
	keys := make([]fleet.Key, 0, len(request.BMCs))
	kinds := request.Config.behaviours()
	for i, info := range request.BMCs {
		endpoint := bmc.Endpoint{Scheme: "http", Host: info.IP.String(), Port: info.Port}
		if kinds[i] == refusing {
			endpoint.Port = refusingPort
		}
		keys = append(keys, f.Ensure(fleet.Spec{Endpoint: endpoint, Credentials: bmc.Credentials{Username: username, Password: password}}))
	}
	return keys
}

func stand(f *fleet.Fleet, keys []fleet.Key, kinds []behaviour, since time.Time) (fleetAnswer, error) {
	var a fleetAnswer
	now := time.Now()
	for i, key := range keys {
		o, _ := f.Observe(key)
		switch {
		case kinds[i] != healthy:
			if o.Err != nil {
				a.Failing++
			}
			continue
		case o.Err == nil && o.Manager.URI != "" && len(o.Systems) == 1 && o.Systems[0].Inventory != nil:
			a.Known++
		}
		if o.Time.After(since) {
			a.Answered++
		}
		a.OldestMS = max(a.OldestMS, now.Sub(o.Time).Milliseconds())
	}
	return a, a.used()
}

// used fills in what the process has used.
func (a *fleetAnswer) used() error {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return fmt.Errorf("getrusage: %w", err)
	}
	a.CPU = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		kib, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "VmRSS:":
			a.RSS = kib << 10
		case "VmHWM:":
			a.PeakRSS = kib << 10
		}
	}
	return nil
}

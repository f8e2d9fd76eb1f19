package site

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// RoleRack is the role of the child process that is the rack. A benchmark's main calls ServeRack for it.
const RoleRack = "rack"

// The administrator of every BMC.
const (
	Username, Password = "admin", "hammer-and-anvil"
	probeRepository    = "farrier/probe"
	imageTag           = "latest"
	// layer is how much of each layer of the image is kept. Ten thousand machines fetch it: what is measured is
	// the site and not how fast this computer copies memory.
	layer = 64 << 10
)

// RackConfig says what the rack is.
type RackConfig struct {
	BMCs   int
	Timing sim.Timing
	// Dead is the share of BMCs that accept connections and never answer.
	Dead float64
	// LockAfter is after how many wrong passwords in a row an account locks; 0: none does.
	LockAfter int
	BootURL   string
}

// dead reports whether the BMC of that index is one of the dead ones, which are spread evenly.
func (c RackConfig) dead(i int) bool {
	return int(float64(i+1)*c.Dead) > int(float64(i)*c.Dead)
}

type rackRequest struct {
	Config *RackConfig // nil: only what has happened
}

type rackAnswer struct {
	BMCs     []sim.BMCInfo `json:",omitempty"` // to the first request, as the next two
	Port     int
	Registry string
	Machines []Machine
	CPU      time.Duration
}

// Machine is what happened to one machine and its BMC.
type Machine struct {
	Dead     bool
	Requests int
	Logins   int
	// OldSessions are requests of a client that another one had taken the place of.
	OldSessions int
	// WrongPasswords are all that the BMC was told.
	WrongPasswords int
	// Resets are by type, as the BMC was told.
	Resets map[string]int
	// Boots is how often it began to boot; Outcome and Why are what the last time came to.
	Boots int
	// Retries is how often its firmware went through its boot order that time, when nothing had booted.
	Retries      int
	Outcome, Why string
}

// Rack is a running rack.
type Rack struct {
	BMCs     []sim.BMCInfo
	Config   RackConfig
	port     int
	registry string
	process  *child.Process
}

// StartRack starts a rack.
func StartRack(ctx context.Context, c RackConfig) (*Rack, error) {
	process, err := child.Start(ctx, RoleRack)
	if err != nil {
		return nil, err
	}
	var a rackAnswer
	if err := process.Ask(rackRequest{Config: &c}, &a); err != nil {
		return nil, err
	}
	return &Rack{BMCs: a.BMCs, Config: c, port: a.Port, registry: a.Registry, process: process}, nil
}

// Image is one that machines of the rack can boot.
func (r *Rack) Image() string { return r.registry + "/" + probeRepository + ":" + imageTag }

// Healthy is how many BMCs answer.
func (r *Rack) Healthy() (n int) {
	for i := range r.Config.BMCs {
		if !r.Config.dead(i) {
			n++
		}
	}
	return n
}

// Machines says what has happened so far, and how much processor time that took the rack.
func (r *Rack) Machines() ([]Machine, time.Duration, error) {
	var a rackAnswer
	err := r.process.Ask(rackRequest{}, &a)
	return a.Machines, a.CPU, err
}

// Stop ends the rack.
func (r *Rack) Stop() error { return r.process.Stop() }

// ServeRack is the rack's side.
func ServeRack(ctx context.Context) error {
	var rack *sim.Rack
	var registry *localregistry.Registry
	var config RackConfig
	err := child.Serve(func(request rackRequest) (a rackAnswer, err error) {
		if request.Config != nil {
			config = *request.Config
			if rack, registry, err = startRack(ctx, config); err != nil {
				return a, err
			}
			a.BMCs, a.Port, a.Registry = rack.BMCs(), rack.Port(), registry.Address()
		}
		if a.CPU, err = ownTime(); err != nil {
			return a, err
		}
		a.Machines = make([]Machine, config.BMCs)
		for i := range a.Machines {
			a.Machines[i] = machineOf(rack, i, config.dead(i))
		}
		return a, nil
	})
	if rack != nil {
		err = errors.Join(err, rack.Stop(ctx), registry.Stop())
	}
	return err
}

func machineOf(rack *sim.Rack, i int, dead bool) Machine {
	stats := rack.Stats(i)
	m := Machine{Dead: dead, Requests: stats.Requests, Logins: stats.Logins + stats.BasicLogins, OldSessions: stats.OldSessions, WrongPasswords: stats.WrongPasswords, Resets: rack.Machine(i).Resets()}
	if boots := rack.Machine(i).Record(); len(boots) > 0 {
		last := boots[len(boots)-1]
		m.Boots, m.Retries, m.Outcome, m.Why = last.Number, last.Retries, string(last.Outcome), last.Why
	}
	return m
}

func startRack(ctx context.Context, c RackConfig) (*sim.Rack, *localregistry.Registry, error) {
	registry, err := localregistry.Start(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("start the registry: %w", err)
	}
	image := localregistry.SmallImage(1)
	image = localregistry.Image{Kernel: image.Kernel[:layer], Initramfs: image.Initramfs[:layer]}
	if _, err := registry.Push(ctx, probeRepository, imageTag, image); err != nil {
		return nil, nil, fmt.Errorf("push the probe image: %w", err)
	}
	rack, err := sim.Start(ctx, sim.Options{
		Servers: c.BMCs, Username: Username, Password: Password, Seed: 1, Timing: c.Timing,
		BootURL: func() string { return c.BootURL + "/ipxe/" },
	})
	if err != nil {
		return nil, nil, fmt.Errorf("start the rack: %w", err)
	}
	if c.LockAfter > 0 {
		if _, err := rack.InjectFault(fault.Spec{Kind: fault.AccountLocked, Value: strconv.Itoa(c.LockAfter), Share: 1}); err != nil {
			return nil, nil, fmt.Errorf("lock accounts: %w", err)
		}
	}
	for i := range c.BMCs {
		if c.dead(i) {
			rack.SetFault(i, sim.Hang)
		}
	}
	return rack, registry, nil
}

// ownTime is the processor time of this process.
func ownTime() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}

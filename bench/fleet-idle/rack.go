package main

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/site"
	"github.com/farrier-dev/farrier/internal/sim"
)

// refusingPort is where nobody listens.
const refusingPort = 1

// The rack is told what to be by its first request, and asked what its BMCs have
// seen by all others.
const roleRack = "rack"

type rackRequest struct {
	Config *config // nil: only the counts
}

type rackAnswer struct {
	BMCs  []sim.BMCInfo `json:",omitempty"` // to the first request
	Stats []sim.Stats
}

func rackRole(ctx context.Context) error {
	var rack *sim.Rack
	err := child.Serve(func(request rackRequest) (a rackAnswer, err error) {
		if request.Config != nil {
			if rack, err = startRack(ctx, *request.Config); err != nil {
				return a, err
			}
			a.BMCs = rack.BMCs()
		}
		a.Stats = make([]sim.Stats, len(rack.BMCs()))
		for i := range a.Stats {
			a.Stats[i] = rack.Stats(i)
		}
		return a, nil
	})
	if rack != nil {
		_ = rack.Stop(ctx)
	}
	return err
}

// network has room for that many BMCs with a server each. The simulator's own, which is the zero value, has room for some thirty thousand.
func network(bmcs int) netip.Prefix {
	if bmcs <= 32_000 {
		return netip.Prefix{}
	}
	return netip.MustParsePrefix("127.128.0.0/9") // four million
}

func startRack(ctx context.Context, c config) (*sim.Rack, error) {
	rack, err := sim.Start(ctx, sim.Options{
		Servers: c.BMCs, Username: site.Username, Password: site.Password, Seed: 1,
		Network: network(c.BMCs),
		Timing:  sim.Timing{Latency: c.Latency},
		BootURL: func() string { return "http://127.0.0.1:1/" }, // nothing is switched on
	})
	if err != nil {
		return nil, fmt.Errorf("start the rack: %w", err)
	}
	for i, b := range c.behaviours() {
		if b == hanging {
			rack.SetFault(i, sim.Hang)
		}
	}
	return rack, nil
}

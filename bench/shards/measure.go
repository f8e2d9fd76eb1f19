package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/site"
)

// every is how often is looked how far it has come.
const every = 500 * time.Millisecond

// findings are what is printed and kept.
type findings struct {
	// Onboarding is how long it took from the first Endpoint to the last Available server.
	Onboarding time.Duration `json:"onboardingNanoseconds"`
	Kills      []takeover    `json:"kills"`
	// InTurns are the BMCs that two managers asked in turns.
	InTurns int `json:"bmcsAskedInTurns"`
	// Repeated are machines that were switched on more often than their discovery and claims account for, or reset.
	Repeated int `json:"machinesSwitchedOnAgain"`
	// Bound are the claims that got a machine, and Running those whose machine runs.
	Claims  int `json:"claims"`
	Bound   int `json:"claimsBound"`
	Running int `json:"claimsRunning"`
	Twice   int `json:"machinesClaimedTwice"`
	// Logins are at the BMC that had most.
	Logins int `json:"loginsPerBMCMost"`
}

// takeover is what became of the BMCs of a manager that was killed.
type takeover struct {
	BMCs int `json:"bmcs"`
	// Held is how long it took until other managers held all its shards, and Asked until they had asked every one of its BMCs.
	Held  time.Duration `json:"heldNanoseconds"`
	Asked time.Duration `json:"askedNanoseconds"`
	// Bound are the claims that were bound until then.
	Bound int `json:"claimsBound"`
}

func (f findings) broken() bool {
	return f.InTurns+f.Repeated+f.Twice > 0 || f.Running < f.Claims
}

type bench struct {
	config
	folder   string
	api      *site.API
	rack     *site.Rack
	configs  []site.ManagerConfig
	managers []*site.Manager
	chance   *rand.Rand
	found    findings
}

func measure(ctx context.Context, c config) (_ findings, err error) {
	b := &bench{config: c, chance: rand.New(rand.NewPCG(c.Seed, 0))} //nolint:gosec // choices of a benchmark
	running := ctx
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	defer func() {
		if stopped := b.stop(); stopped != nil {
			fmt.Fprintln(os.Stderr, "after the run:", stopped)
		}
	}()
	if err := b.start(running); err != nil {
		return findings{}, err
	}
	if err := b.onboard(ctx); err != nil {
		return findings{}, err
	}
	claiming, claimed := context.WithCancel(ctx)
	defer claimed()
	claims := make(chan error, 1)
	go func() { claims <- b.claim(claiming) }()
	for range c.Kills {
		if err := b.kill(running, ctx); err != nil {
			return b.found, err
		}
	}
	if err := <-claims; err != nil {
		return b.found, err
	}
	if err := b.awaitClaims(ctx); err != nil {
		return b.found, err
	}
	return b.found, b.verify(ctx)
}

// start starts API, rack and managers.
func (b *bench) start(ctx context.Context) (err error) {
	if b.folder, err = os.MkdirTemp("", "farrier-bench-"); err != nil {
		return err
	}
	addresses, err := site.FreeAddresses(ctx, 1+2*b.Managers)
	if err != nil {
		return err
	}
	if b.api, err = site.StartAPI(ctx, b.binaries.API, b.folder, ""); err != nil {
		return err
	}
	boot := addresses[0]
	if b.rack, err = site.StartRack(ctx, site.RackConfig{BMCs: b.BMCs, Timing: b.Timing, BootURL: "http://" + boot}); err != nil {
		return err
	}
	for i := range b.Managers {
		folder := filepath.Join(b.folder, fmt.Sprintf("manager-%d", i))
		if err := os.Mkdir(folder, 0o700); err != nil {
			return err
		}
		b.configs = append(b.configs, site.ManagerConfig{
			Binary: b.binaries.Manager, Kubeconfig: b.api.Kubeconfig, Folder: folder, Rack: b.rack, PollInterval: b.Interval, FastPoll: time.Second,
			Boot: boot, Metrics: addresses[1+2*i], Profiles: addresses[2+2*i], Flags: []string{"--leader-elect=true", "--shards", fmt.Sprint(b.Shards)},
		})
		manager, err := site.StartManager(ctx, b.configs[i])
		if err != nil {
			return err
		}
		b.managers = append(b.managers, manager)
	}
	return b.shared(ctx)
}

func (b *bench) stop() error {
	var errs []error
	for _, m := range b.managers {
		errs = append(errs, m.Process.Stop())
	}
	if b.rack != nil {
		errs = append(errs, b.rack.Stop())
	}
	if b.api != nil {
		errs = append(errs, b.api.Process.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(b.folder))...)
}

// await waits until something is so, and fails when a manager ends by itself.
func (b *bench) await(ctx context.Context, what string, is func() (bool, error)) error {
	for {
		if done, err := is(); err != nil || done {
			return err
		}
		for _, m := range b.managers {
			select {
			case <-m.Process.Exited():
				return fmt.Errorf("%s: a manager ended: %w", what, m.Process.Err())
			default:
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
		case <-time.After(every):
		}
	}
}

// onboard brings all servers to Available.
func (b *bench) onboard(ctx context.Context) error {
	began := time.Now()
	s := site.Site{API: b.api, Rack: b.rack}
	if err := s.CreateEndpoints(ctx); err != nil {
		return err
	}
	told := began
	err := b.await(ctx, "available", func() (bool, error) {
		n, err := b.api.Available(ctx)
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			fmt.Fprintf(os.Stderr, "%d of %d Available after %s\n", n, b.BMCs, time.Since(began).Round(time.Second))
		}
		return n >= b.BMCs, err
	})
	b.found.Onboarding = time.Since(began)
	return err
}

// kill kills a manager, waits until the others have its BMCs, and starts it again.
func (b *bench) kill(running, ctx context.Context) error {
	at := b.chance.IntN(b.Managers)
	before, _, err := b.rack.Machines()
	if err != nil {
		return err
	}
	old, err := b.holders(ctx)
	if err != nil {
		return err
	}
	victim := b.managers[at]
	b.managers = slices.Delete(b.managers, at, at+1)
	killed := time.Now()
	if err := victim.Process.Kill(); err != nil {
		return err
	}
	var t takeover
	lost, err := b.awaitTakeover(ctx, old)
	if err != nil {
		return err
	}
	t.Held = time.Since(killed)
	err = b.await(ctx, "BMCs of a killed manager are asked", func() (bool, error) {
		now, _, err := b.rack.Machines()
		t.BMCs = 0
		for i := range now {
			if lost[b.shardOf(i)] {
				t.BMCs++
				if now[i].Logins == before[i].Logins {
					return false, err
				}
			}
		}
		return true, err
	})
	if err != nil {
		return err
	}
	t.Asked = time.Since(killed)
	if t.Bound, _, err = b.bound(ctx); err != nil {
		return err
	}
	b.found.Kills = append(b.found.Kills, t)
	fmt.Fprintf(os.Stderr, "kill %d: %d BMCs held after %s, asked after %s; %d claims bound\n", len(b.found.Kills), t.BMCs, t.Held.Round(every), t.Asked.Round(every), t.Bound)
	manager, err := site.StartManager(running, b.configs[at])
	if err != nil {
		return err
	}
	b.managers = slices.Insert(b.managers, at, manager)
	return b.shared(ctx)
}

// print writes a Markdown table, so that it goes into README.md beside this file as it is.
func (f findings) print(w io.Writer, c config) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	line := func(cells ...any) { fmt.Fprintf(t, "| %v\t| %v\t| %v\t|\n", cells...) }
	longest := func(of func(takeover) time.Duration) (d time.Duration) {
		for _, k := range f.Kills {
			d = max(d, of(k))
		}
		return d.Round(100 * time.Millisecond)
	}
	line("what", "found", "promise")
	line("---", "---", "---")
	line("managers killed", len(f.Kills), "")
	line("BMCs that two managers asked in turns", f.InTurns, 0)
	line("machines switched on again, or reset", f.Repeated, 0)
	line("machines claimed twice", f.Twice, 0)
	line("claims whose machine runs", fmt.Sprintf("%d of %d", f.Running, f.Claims), "all")
	line("until others held the shards of a killed manager, longest", longest(func(k takeover) time.Duration { return k.Held }), "≤ 30 s")
	line("until they had asked all its BMCs, longest", longest(func(k takeover) time.Duration { return k.Asked }), "")
	line(fmt.Sprintf("onboarding of %d servers", c.BMCs), f.Onboarding.Round(100*time.Millisecond), "")
	line("logins at one BMC, most", f.Logins, "")
	_ = t.Flush()
}

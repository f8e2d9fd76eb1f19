package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
)

// unit is how exactly it is noted when a change is visible.
const unit = 10 * time.Microsecond

// visibleFound is how soon changes at a steady rate are visible at boot servers.
type visibleFound struct {
	BootServers int           `json:"bootServers"`
	Processes   int           `json:"processes"`
	Machines    int           `json:"machines"`
	PerSecond   float64       `json:"changesPerSecond"`
	Seen        int           `json:"seen"`
	Expected    int           `json:"expected"`
	P50         time.Duration `json:"p50Nanoseconds"`
	P99         time.Duration `json:"p99Nanoseconds"`
	Worst       time.Duration `json:"worstNanoseconds"`
	// Cores that were busy, of the manager and of all boot servers together.
	ManagerCores    float64 `json:"managerCores"`
	BootServerCores float64 `json:"bootServerCores"`
}

// visible has boot servers follow a site that changes at a steady rate.
func (b *bench) visible(ctx context.Context, count int) (found visibleFound, err error) {
	s, machines := b.many, b.Many
	processes := min(count, ownProcess)
	if count > ownProcess {
		machines = b.Crowd
		if s, err = b.startManager(ctx, machines); err != nil {
			return found, err
		}
		defer func() { err = errors.Join(err, s.Stop()) }()
	}
	var followers []*child.Process
	for i := range processes {
		p, _, err := b.startBootServers(ctx, s, (count+i)/processes, false)
		if err != nil {
			return found, err
		}
		followers = append(followers, p)
	}
	found = visibleFound{BootServers: count, Processes: processes, Machines: machines}
	if err := b.watch(s, followers, &found); err != nil {
		return found, err
	}
	for _, p := range followers {
		err = errors.Join(err, p.Stop())
	}
	return found, err
}

// watch makes the changes and asks how soon they were visible.
func (b *bench) watch(s *site, followers []*child.Process, found *visibleFound) error {
	var before, after managerAnswer
	cpuBefore, _, err := ask(followers, bootServerRequest{Watch: true})
	if err != nil {
		return err
	}
	if err := s.Ask(managerRequest{}, &before); err != nil {
		return err
	}
	if err := s.Ask(managerRequest{Rate: b.Rate, Duration: b.Duration}, &after); err != nil {
		return err
	}
	cpu, seen, err := ask(followers, bootServerRequest{Until: after.Counter})
	if err != nil {
		return err
	}
	found.PerSecond = float64(after.Made) / after.Elapsed.Seconds()
	found.Expected = after.Made * found.BootServers
	for _, n := range seen {
		found.Seen += n
	}
	found.P50, found.P99, found.Worst = quantile(seen, found.Seen, 0.5), quantile(seen, found.Seen, 0.99), quantile(seen, found.Seen, 1)
	found.ManagerCores = (after.Used.CPU - before.Used.CPU).Seconds() / after.Elapsed.Seconds()
	found.BootServerCores = (cpu - cpuBefore).Seconds() / after.Elapsed.Seconds()
	if found.Seen == 0 {
		return fmt.Errorf("none of %d changes was seen", after.Made)
	}
	return nil
}

// ask asks all processes of boot servers the same, and adds up what they answer.
func ask(followers []*child.Process, r bootServerRequest) (cpu time.Duration, seen map[int64]int, err error) {
	seen = map[int64]int{}
	for _, p := range followers {
		var a bootServerAnswer
		if err := p.Ask(r, &a); err != nil {
			return 0, nil, err
		}
		cpu += a.Used.CPU
		for after, n := range a.Seen {
			seen[after] += n
		}
	}
	return cpu, seen, nil
}

// quantile is that of so many values, by nearest rank.
func quantile(seen map[int64]int, count int, q float64) time.Duration {
	left := int(q * float64(count-1))
	for _, after := range slices.Sorted(maps.Keys(seen)) {
		if left -= seen[after]; left < 0 {
			return time.Duration(after) * unit
		}
	}
	return 0
}

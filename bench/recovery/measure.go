package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/site"
)

// findings are what is printed and kept.
type findings struct {
	Undisturbed onboarded `json:"undisturbed"`
	Killed      onboarded `json:"killed"`
}

// onboarded is one run.
type onboarded struct {
	Healthy int           `json:"healthy"`
	Took    time.Duration `json:"tookNanoseconds"` // from the first Endpoint to the last healthy Available
	// KilledAt is when the manager was killed, with that many servers inspected and that many machines switched on.
	KilledAt  time.Duration `json:"killedAtNanoseconds,omitempty"`
	Inspected int           `json:"inspectedAtKill,omitempty"`
	Started   int           `json:"startedAtKill,omitempty"`
	// Rebooted machines were switched on more than once; Started before the kill, they were to go on.
	Rebooted int `json:"machinesSwitchedOnAgain"`
	// Retried machines found nothing to boot until their firmware tried again.
	Retried   int `json:"machinesTriedAgainByFirmware"`
	Available int `json:"available"`
	Lost      int `json:"recordsLost"`
	Logins    int `json:"loginsPerBMCMost"`
}

func measure(ctx context.Context, c config, kill bool) (o onboarded, err error) {
	running := ctx
	s, err := site.Start(ctx, site.Config{
		Binaries: c.binaries, BMCs: c.Servers, Timing: c.Timing, Dead: c.Dead, PollInterval: c.Interval, FastPoll: c.FastPoll,
	})
	if err != nil {
		return o, err
	}
	defer func() { // what was measured is not lost because something ends slowly on a busy machine
		if stopped := s.Stop(); stopped != nil {
			fmt.Fprintln(os.Stderr, "after the run:", stopped)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, c.Limit) // the site outlives it, and tells how far it came
	defer cancel()
	o.Healthy = s.Rack.Healthy()
	began := time.Now()
	if err := s.CreateEndpoints(ctx); err != nil {
		return o, err
	}
	const every = 500 * time.Millisecond
	inspected, available := o.tells(began, kill, "inspected", s.Inspected), o.tells(began, kill, "Available", s.API.Available)
	if kill {
		if err := s.Await(ctx, int(c.KillAt*float64(o.Healthy)), every, inspected); err != nil {
			return o, fmt.Errorf("inspected before the kill: %w", err)
		}
		o.KilledAt = time.Since(began)
		if err := s.KillManager(running); err != nil {
			return o, err
		}
		if err := o.atKill(ctx, s); err != nil {
			return o, err
		}
	}
	if err := s.Await(ctx, o.Healthy, every, inspected); err != nil {
		return o, fmt.Errorf("inspected: %w; %s", err, stuck(s))
	}
	if err := s.Await(ctx, o.Healthy, every, available); err != nil {
		return o, fmt.Errorf("available: %w", err)
	}
	o.Took = time.Since(began)
	return o, o.read(ctx, s)
}

// tells has a count say every few seconds how far it has come.
func (o *onboarded) tells(began time.Time, kill bool, what string, count func(context.Context) (int, error)) func(context.Context) (int, error) {
	run := map[bool]string{false: "undisturbed", true: "killed"}[kill]
	const every = 10 * time.Second
	last := began
	return func(ctx context.Context) (int, error) {
		n, err := count(ctx)
		if now := time.Now(); err == nil && (now.Sub(last) >= every || n == o.Healthy) {
			last = now
			fmt.Fprintf(os.Stderr, "%s: %d of %d %s after %s\n", run, n, o.Healthy, what, now.Sub(began).Round(time.Second))
		}
		return n, err
	}
}

// stuck tells of machines whose last boot came to nothing.
func stuck(s *site.Site) string {
	machines, _, err := s.Rack.Machines()
	if err != nil {
		return err.Error()
	}
	var text strings.Builder
	for i, m := range machines {
		if !m.Dead && m.Outcome != "probe" {
			fmt.Fprintf(&text, "%s: boot %d %s %s, resets %v; ", s.Rack.BMCs[i].Name, m.Boots, m.Outcome, m.Why, m.Resets)
		}
	}
	return text.String()
}

// atKill says how far it had come.
func (o *onboarded) atKill(ctx context.Context, s *site.Site) (err error) {
	if o.Inspected, err = s.Inspected(ctx); err != nil {
		return err
	}
	machines, _, err := s.Rack.Machines()
	for _, m := range machines {
		if m.Resets["On"] > 0 {
			o.Started++
		}
	}
	return err
}

func (o *onboarded) read(ctx context.Context, s *site.Site) (err error) {
	machines, _, err := s.Rack.Machines()
	if err != nil {
		return err
	}
	for _, m := range machines {
		o.Logins = max(o.Logins, m.Logins)
		if m.Retries > 0 {
			o.Retried++
		}
		if m.Resets["On"] > 1 || m.Resets["ForceRestart"]+m.Resets["GracefulRestart"]+m.Resets["PowerCycle"] > 0 {
			o.Rebooted++
		}
	}
	if o.Available, err = s.API.Available(ctx); err != nil {
		return err
	}
	inspected, err := s.Inspected(ctx)
	o.Lost = max(0, o.Healthy-inspected)
	return err
}

// print writes a Markdown table, so that it goes into README.md beside this file as it is.
func (f findings) print(w io.Writer, c config) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	line := func(cells ...any) { fmt.Fprintf(t, "| %v\t| %v\t| %v\t| %v\t|\n", cells...) }
	line("what", "undisturbed", "killed", "promise")
	line("---", "---", "---", "---")
	a, b := f.Undisturbed, f.Killed
	line("healthy servers Available", fmt.Sprintf("%d of %d", a.Available, a.Healthy), fmt.Sprintf("%d of %d", b.Available, b.Healthy), "all")
	line("killed after", "", fmt.Sprintf("%v: %d inspected, %d switched on", b.KilledAt.Round(100*time.Millisecond), b.Inspected, b.Started), "")
	line("until all were", a.Took.Round(100*time.Millisecond), b.Took.Round(100*time.Millisecond), "")
	line("extra time", "", (b.Took - a.Took).Round(100*time.Millisecond), fmt.Sprint("≤ ", c.Interval))
	line("machines switched on again or reset", a.Rebooted, b.Rebooted, 0)
	line("machines whose firmware tried again", a.Retried, b.Retried, "")
	line("records lost", a.Lost, b.Lost, 0)
	line("logins per BMC, most", a.Logins, b.Logins, "")
	_ = t.Flush()
}

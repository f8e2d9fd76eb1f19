package ipxe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"time"

	"k8s.io/utils/clock"
)

// Limits that no honest script meets. A script comes from the network.
const (
	maxLine       = 64 << 10
	maxExpansions = 1000
	maxDepth      = 16

	defaultMaxSteps = 10_000
	defaultMaxTime  = 30 * time.Minute
)

// Role is what a file is fetched for.
type Role string

// The roles. A file is one that a script fetches without saying what for.
const (
	RoleScript Role = "script"
	RoleKernel Role = "kernel"
	RoleInitrd Role = "initrd"
	RoleFile   Role = "file"
)

// File is what a Fetcher read.
type File struct {
	// Script is the content of a file that IsScript, and nil for any other.
	Script []byte
}

// Fetcher reads files. An answer of HTTP that is not a success is a StatusError.
type Fetcher interface {
	Fetch(ctx context.Context, source string, role Role) (File, error)
}

// StatusError is an HTTP answer other than 200.
type StatusError struct {
	Code int
	// Retry says that the answer had a Retry-After, RetryAfter what it said.
	Retry      bool
	RetryAfter time.Duration
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("HTTP %d %s", e.Code, http.StatusText(e.Code))
}

// Options is everything that a run depends on.
type Options struct {
	Fetcher  Fetcher
	Clock    clock.Clock
	Settings Settings
	// Console is given what the script echoes. May be nil.
	Console func(line string)
	// Trace is given every line as it is executed, and what came of it. May be
	// nil.
	Trace func(line string)
	// MaxSteps and MaxTime end scripts that do not end. Zero: 10,000 lines, 30
	// minutes.
	MaxSteps int
	MaxTime  time.Duration
}

// Image is a file that iPXE holds.
type Image struct {
	Name, URL, Args string
	role            Role
	script          []byte
}

// Outcome is how a run ended.
type Outcome string

// The ways to end.
const (
	Booted   Outcome = "booted"    // Kernel was started
	Exited   Outcome = "exited"    // the firmware goes on with its boot order
	Disk     Outcome = "disk"      // sanboot of the local disk
	Shell    Outcome = "shell"     // waits at a prompt for a person
	Reboot   Outcome = "reboot"    // the machine starts again
	PowerOff Outcome = "power off" // the machine turns itself off
)

// Result is what a run left behind.
type Result struct {
	Outcome Outcome
	Kernel  Image
	Initrds []Image
}

// Run fetches the script at url, executes it and whatever it chains. An error
// says that iPXE would have given up, and why.
func Run(ctx context.Context, opts Options, first string) (Result, error) {
	r := &runner{opts: opts, settings: Settings{}, start: opts.Clock.Now()}
	for name, value := range opts.Settings {
		r.settings[name] = value
	}
	if r.opts.MaxSteps == 0 {
		r.opts.MaxSteps = defaultMaxSteps
	}
	if r.opts.MaxTime == 0 {
		r.opts.MaxTime = defaultMaxTime
	}
	image, err := r.fetch(ctx, first, "", RoleScript, 0)
	if err != nil {
		return Result{}, err
	}
	if image.script == nil {
		return Result{}, fmt.Errorf("%s: no script: the first line is not %s", first, magic)
	}
	if err := r.execute(ctx, image); err != nil {
		return Result{}, err
	}
	if r.done == nil {
		return Result{Outcome: Exited}, nil
	}
	return *r.done, nil
}

type stop int

const (
	stopNone   stop = iota
	stopLine        // goto: the rest of the line is not run
	stopScript      // exit, chain --replace: the rest of the script is not run
)

type runner struct {
	opts     Options
	settings Settings
	start    time.Time
	steps    int
	depth    int

	images      []*Image
	selected    *Image
	base        string // URL of the script that runs: relative URLs start there
	labels      map[string]int
	jump        int
	stop        stop
	replacement *Image
	done        *Result
}

// fatalError ends the run, whatever stands behind a "||".
type fatalError struct{ err error }

func (e *fatalError) Error() string { return e.err.Error() }
func (e *fatalError) Unwrap() error { return e.err }

func fatal(err error) bool {
	return errors.As(err, new(*fatalError))
}

// execute runs an image, and then the one that replaced it, if any did.
func (r *runner) execute(ctx context.Context, image *Image) error {
	if r.depth++; r.depth > maxDepth {
		return &fatalError{fmt.Errorf("more than %d scripts chained inside each other", maxDepth)}
	}
	defer func() { r.depth-- }()
	for {
		if image.script == nil {
			r.boot(image)
			return nil
		}
		err := r.runScript(ctx, image)
		if r.replacement == nil || r.done != nil || fatal(err) {
			return err
		}
		image, r.replacement = r.replacement, nil
	}
}

// boot starts a kernel, which is given every other file that is held, whatever it was fetched for.
func (r *runner) boot(kernel *Image) {
	r.done = &Result{Outcome: Booted, Kernel: *kernel}
	for _, image := range r.images {
		if image.role == RoleInitrd || image.role == RoleFile {
			r.done.Initrds = append(r.done.Initrds, *image)
		}
	}
}

func (r *runner) runScript(ctx context.Context, image *Image) error {
	s := parseScript(image.script)
	base, labels := r.base, r.labels
	r.base, r.labels = image.URL, s.labels
	defer func() { r.base, r.labels = base, labels }()

	for at := 0; at < len(s.lines); at++ {
		if err := r.limits(ctx); err != nil {
			return err
		}
		err := r.line(ctx, s.lines[at])
		stopped := r.stop
		r.stop = stopNone
		switch {
		case r.done != nil || stopped == stopScript || fatal(err):
			return err
		case stopped == stopLine:
			at = r.jump - 1
		case err != nil:
			return fmt.Errorf("%s: line %d: %w", image.URL, at+1, err)
		}
	}
	return nil
}

func (r *runner) limits(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return &fatalError{err}
	}
	if r.steps++; r.steps > r.opts.MaxSteps {
		return &fatalError{fmt.Errorf("more than %d lines executed", r.opts.MaxSteps)}
	}
	if spent := r.opts.Clock.Since(r.start); spent > r.opts.MaxTime {
		return &fatalError{fmt.Errorf("still in a script after %s", r.opts.MaxTime)}
	}
	return nil
}

func (r *runner) line(ctx context.Context, line string) error {
	expanded, err := r.settings.expand(line)
	if err != nil {
		return err
	}
	run := true
	for _, step := range splitLine(expanded) {
		if run {
			err = r.step(ctx, step)
		}
		if r.done != nil || r.stop != stopNone || fatal(err) {
			return err
		}
		run = step.next(err)
	}
	return err
}

func (r *runner) step(ctx context.Context, step step) error {
	if len(step.argv) == 0 {
		return nil
	}
	r.trace("$ %s", joined(step.argv))
	err := r.command(ctx, step.argv)
	if err != nil {
		r.trace("  %v", err)
	}
	return err
}

// fetch reads a file. iPXE repeats a request that was answered with 503 and a
// Retry-After by itself, for as long as that goes on, before the script hears of it.
func (r *runner) fetch(ctx context.Context, reference, name string, role Role, timeout time.Duration) (*Image, error) {
	address, err := r.resolve(reference)
	if err != nil {
		return nil, err
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	for {
		if err := r.limits(ctx); err != nil {
			return nil, err
		}
		file, err := r.opts.Fetcher.Fetch(ctx, address.String(), role)
		if err == nil {
			r.trace("  %s %s", role, address)
			if name == "" {
				name = path.Base(address.Path)
			}
			return &Image{Name: name, URL: address.String(), role: role, script: file.Script}, nil
		}
		var status *StatusError
		if !errors.As(err, &status) || status.Code != http.StatusServiceUnavailable || !status.Retry {
			return nil, fmt.Errorf("%s: %w", address, err)
		}
		if err := r.sleep(ctx, status.RetryAfter); err != nil {
			return nil, err
		}
	}
}

func (r *runner) resolve(reference string) (*url.URL, error) {
	u, err := url.Parse(reference)
	if err != nil {
		return nil, fmt.Errorf("URL %q: %w", reference, err)
	}
	if base, err := url.Parse(r.base); err == nil && r.base != "" {
		u = base.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("URL %q: only http and https are supported", reference)
	}
	return u, nil
}

func (r *runner) sleep(ctx context.Context, d time.Duration) error {
	r.trace("  sleep %s", d)
	if d > r.opts.MaxTime {
		return &fatalError{fmt.Errorf("a pause of %s is longer than the %s a boot may take", d, r.opts.MaxTime)}
	}
	timer := r.opts.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return &fatalError{ctx.Err()}
	}
}

func (r *runner) trace(format string, args ...any) {
	if r.opts.Trace != nil {
		r.opts.Trace(fmt.Sprintf(format, args...))
	}
}

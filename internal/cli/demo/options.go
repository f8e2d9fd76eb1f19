package demo

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/farrier-dev/farrier/internal/cli/demo/scenario"
	"github.com/farrier-dev/farrier/internal/sim"
)

// Output is the form of the result.
type Output string

const (
	// OutputText is a live picture and a summary; timelines, where it failed.
	OutputText Output = "text"
	// OutputJSON is one object, show.Result.
	OutputJSON Output = "json"
)

// Break is what is broken on purpose, to see how failures look.
type Break string

const (
	// BreakNothing leaves everything well.
	BreakNothing Break = ""
	// BreakImage has claims name an image that lacks its initramfs.
	BreakImage Break = "image"
	// BreakSecret makes the ignition Secrets without the key that holds the ignition.
	BreakSecret Break = "secret"
	// BreakPassword changes the password of one BMC, so that it refuses the default one.
	BreakPassword Break = "password"
	// BreakDisk has every machine of the rack refuse to have one of its disks wiped.
	BreakDisk Break = "disk"
)

// maxServers is how many servers one process can boot within any sensible time.
const maxServers = 2000

// Options are the flags of `farrier demo`.
type Options struct {
	Servers, Claims int
	// Timeout bounds the whole run; 0: as long as a rack of that size may take.
	Timeout time.Duration
	Output  Output
	// Verbosity above 0 logs to standard error, prints lines in place of the picture, and timelines at the end.
	Verbosity int
	// Keep is the data directory, which stays; empty: a temporary one, which does not.
	Keep  string
	Break Break

	// grace is how long something may look broken.
	grace time.Duration
}

// DefaultOptions are those of `farrier demo` without flags.
func DefaultOptions() Options {
	return Options{Servers: 3, Claims: 1, Output: OutputText, grace: scenario.DefaultGrace}
}

// Check refuses what makes no sense, before anything is started. Errors name the flag.
func (o Options) Check() error {
	var errs []error
	refuse := func(flag, format string, args ...any) {
		errs = append(errs, fmt.Errorf("--"+flag+": "+format, args...))
	}
	if o.Servers < 1 || o.Servers > maxServers {
		refuse("servers", "%d is out of range 1 to %d", o.Servers, maxServers)
	} else if o.Claims < 1 || o.Claims > o.Servers {
		refuse("claims", "%d is out of range 1 to %d, the number of servers", o.Claims, o.Servers)
	}
	if o.Timeout < 0 {
		refuse("timeout", "%s is negative", o.Timeout)
	}
	if o.Output != OutputText && o.Output != OutputJSON {
		refuse("output", "%q is neither %s nor %s", o.Output, OutputText, OutputJSON)
	}
	switch o.Break {
	case BreakNothing, BreakImage, BreakSecret, BreakPassword, BreakDisk:
	default:
		refuse("break", "%q is not one of %s, %s, %s, %s", o.Break, BreakImage, BreakSecret, BreakPassword, BreakDisk)
	}
	if o.Keep != "" {
		switch entries, err := os.ReadDir(o.Keep); {
		case err == nil && len(entries) > 0:
			refuse("keep", "%s is not empty; the demo needs a new or empty directory", o.Keep)
		case err != nil && !errors.Is(err, os.ErrNotExist):
			refuse("keep", "%w", err)
		}
	}
	return errors.Join(errs...)
}

// timing is how long simulated machines take: long enough to be seen.
var timing = sim.Timing{POST: 1500 * time.Millisecond, Shutdown: 500 * time.Millisecond, OSBoot: 500 * time.Millisecond, Latency: time.Millisecond}

// fastPoll is how often a BMC is asked while something is awaited of it. A small rack is to look lively, and a large
// one must leave the processors time for its other work.
func (o Options) fastPoll() time.Duration {
	return 200*time.Millisecond + time.Duration(o.Servers)*5*time.Millisecond
}

// limit is how long the whole run may take.
func (o Options) limit() time.Duration {
	if o.Timeout > 0 {
		return o.Timeout
	}
	return o.usual()
}

// usual is how long the whole run may take where nobody says anything else.
func (o Options) usual() time.Duration { return 5*time.Minute + time.Duration(o.Servers)*time.Second }

// patience is how much longer than usual each step may take: a run that may take longer as a whole is one on a slow machine.
func (o Options) patience() float64 { return float64(o.limit()) / float64(o.usual()) }

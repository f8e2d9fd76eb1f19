package fleet

import (
	"errors"
	"fmt"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// CommandKind is what a command does.
type CommandKind string

const (
	// PowerOn sets or clears the boot override, then powers on. A system that is
	// on already is left alone.
	PowerOn CommandKind = "PowerOn"
	// PowerOff shuts down gracefully and, where Force allows it and Budget is
	// spent, by force.
	PowerOff CommandKind = "PowerOff"
	// Reset sends Command.Reset as it is. It succeeds when the BMC accepted it
	// or, for those that end On or Off, when that was observed.
	Reset CommandKind = "Reset"
)

// Command is an order for one system.
type Command struct {
	// ID makes a command one of a kind: what was submitted under it once is not
	// done again.
	ID     string
	System string // URI
	Kind   CommandKind
	// Boot is what PowerOn sets; its zero value clears the override.
	Boot bmc.BootOverride
	// Budget is how long PowerOn may take, and how long PowerOff stays graceful;
	// five minutes where zero.
	Budget time.Duration
	// Force lets PowerOff go on to ForceOff.
	Force bool
	// Reset is the reset type of kind Reset.
	Reset bmc.ResetType
}

// CommandState is how far a command is.
type CommandState string

const (
	Queued     CommandState = "Queued"
	Running    CommandState = "Running"
	Succeeded  CommandState = "Succeeded"
	Failed     CommandState = "Failed"
	Superseded CommandState = "Superseded"
)

// Ended says whether the state is final.
func (s CommandState) Ended() bool { return s == Succeeded || s == Failed || s == Superseded }

// CommandStatus is how a command stands.
type CommandStatus struct {
	ID    string
	Kind  CommandKind
	State CommandState
	Start time.Time // when it left the queue
	End   time.Time
	// Sent is the last reset type that the BMC was asked for, which is the nearest allowed
	// to the one wanted. Empty: none was needed.
	Sent bmc.ResetType
	// Forced says that the graceful way was given up.
	Forced bool
	// Err is why it failed, or why it waits.
	Err error
}

func (s CommandStatus) same(o CommandStatus) bool {
	return s.ID == o.ID && s.State == o.State && s.Sent == o.Sent && s.Forced == o.Forced && sameError(s.Err, o.Err)
}

// What Submit answers, and what a command's Err wraps.
var (
	ErrUnknownBMC     = errors.New("no such BMC in the fleet")
	ErrUnknownSystem  = errors.New("the BMC shows no such system")
	ErrInvalidCommand = errors.New("invalid command")
	ErrQueueFull      = errors.New("too many commands wait for this BMC")
	// ErrNotObserved: the BMC took the order and the power state did not follow
	// in time.
	ErrNotObserved = errors.New("power state not reached in time")
	// ErrNotBegun: the BMC could not be asked before the command was too old.
	ErrNotBegun = errors.New("command not begun in time")
)

const (
	defaultBudget = 5 * time.Minute
	// forceBudget is how long ForceOff may take to be seen.
	forceBudget = 2 * time.Minute
	// maxQueue bounds what waits for one BMC, maxHistory what is remembered.
	maxQueue   = 16
	maxHistory = 32
)

func (c Command) validate() error {
	switch {
	case c.ID == "":
		return fmt.Errorf("%w: no ID", ErrInvalidCommand)
	case c.System == "":
		return fmt.Errorf("%w %q: no System", ErrInvalidCommand, c.ID)
	case c.Kind == Reset && c.Reset == "":
		return fmt.Errorf("%w %q: no Reset type", ErrInvalidCommand, c.ID)
	case c.Kind != PowerOn && c.Kind != PowerOff && c.Kind != Reset:
		return fmt.Errorf("%w %q: unknown kind %q", ErrInvalidCommand, c.ID, c.Kind)
	}
	return nil
}

// supersedes says that c makes an older command pointless which has not begun
// or only waits: both are about the power of one system.
func (c Command) supersedes(old Command) bool { return c.System == old.System }

// command is a Command on its way. It belongs to the actor's goroutine.
type command struct {
	Command
	status    CommandStatus
	submitted time.Time
	deadline  time.Time // of what it waits for now
	stage     stage
	sentAt    time.Time // of the last reset
	doubtful  bool      // that reset may not have arrived
	pollAt    time.Time
	pollAfter time.Duration
	settling  settling
	cause     error // last failure, for the message at the end
}

// stage is how far a running command is.
type stage int

const (
	stageBegin  stage = iota // nothing sent yet
	stageAsked               // the BMC was asked: On, GracefulShutdown or Reset
	stageForced              // ForceOff was sent
)

func newCommand(c Command, now time.Time) *command {
	if c.Budget <= 0 {
		c.Budget = defaultBudget
	}
	return &command{
		Command:   c,
		status:    CommandStatus{ID: c.ID, Kind: c.Kind, State: Queued},
		submitted: now,
	}
}

// expires is when the command ends even if its BMC cannot be asked.
func (c *command) expires(o *Options) time.Time {
	switch {
	case c.status.State == Queued:
		return c.submitted.Add(c.Budget + 2*o.MaxBackoff)
	case c.Kind == PowerOff && c.Force && c.stage != stageForced:
		return c.deadline.Add(forceBudget)
	default:
		return c.deadline
	}
}

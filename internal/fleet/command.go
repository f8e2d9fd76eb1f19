package fleet

import (
	"context"
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
	// SetIndicator sets the LED to Command.Indicator. It succeeds when the BMC accepted it.
	SetIndicator CommandKind = "SetIndicator"
	// SetBootOrder sets the persistent boot order to Command.BootOrder, likewise.
	SetBootOrder CommandKind = "SetBootOrder"
	// ResetManager restarts the BMC itself by Command.Reset, likewise. System is left empty.
	ResetManager CommandKind = "ResetManager"

	// work is a Job's kind.
	work CommandKind = "Job"
)

// power says that a command is about the power of its system: such supersede each
// other.
func (k CommandKind) power() bool { return k == PowerOn || k == PowerOff || k == Reset }

// ofSystem says that a command is for a system, not for the BMC.
func (k CommandKind) ofSystem() bool { return k != ResetManager && k != work }

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
	// Reset is the reset type of kinds Reset and ResetManager.
	Reset     bmc.ResetType
	Indicator bmc.Indicator // of kind SetIndicator
	BootOrder []string      // of kind SetBootOrder, by reference of boot option
	// Holder is the holder of the exclusive lock that the command runs under, if any.
	Holder string
	// Account is what the requests of the command are counted for, where they make no progress: see Options.Throttle.
	Account string
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

// Ended reports whether the state is final.
func (s CommandState) Ended() bool { return s == Succeeded || s == Failed || s == Superseded }

// CommandStatus is how a command stands.
type CommandStatus struct {
	ID     string
	Kind   CommandKind
	Holder string
	State  CommandState
	Start  time.Time // when it left the queue
	End    time.Time
	// Sent is the last reset type that the BMC was asked for, which is the nearest allowed
	// to the one wanted. Empty: none was needed.
	Sent bmc.ResetType
	// Forced says that the graceful way was given up.
	Forced bool
	// Err is why it failed, or why it waits.
	Err error
	// Trouble is why an order about power has not come true, for as long as that is so: what the BMC answered where it did not
	// take the order, or else what the order came to. An order that follows another of its kind begins with the trouble of that
	// one, so that it can be told while it is tried again. TroubleSince is when it began.
	Trouble      error
	TroubleSince time.Time
}

// troubled notes why the order has not come true.
func (s *CommandStatus) troubled(err error, since time.Time) {
	if !s.Kind.power() {
		return
	}
	if s.Trouble == nil {
		s.TroubleSince = since
	}
	s.Trouble = err
}

// well ends the trouble.
func (s *CommandStatus) well() { s.Trouble, s.TroubleSince = nil, time.Time{} }

// follows takes the trouble of the order before over, if that was of the same kind and has not come true.
func (s CommandStatus) follows(before CommandStatus) CommandStatus {
	if before.Kind == s.Kind && before.State != Succeeded {
		s.Trouble, s.TroubleSince = before.Trouble, before.TroubleSince
	}
	return s
}

func (s CommandStatus) same(o CommandStatus) bool {
	return s.ID == o.ID && s.State == o.State && s.Sent == o.Sent && s.Forced == o.Forced && sameError(s.Err, o.Err) && sameError(s.Trouble, o.Trouble)
}

// What Submit answers, and what a command's Err wraps.
var (
	ErrUnknownBMC     = errors.New("no such BMC in the fleet")
	ErrUnknownSystem  = errors.New("the BMC shows no such system")
	ErrInvalidCommand = errors.New("invalid command")
	ErrQueueFull      = errors.New("too many commands wait for this BMC")
	// ErrNotObserved: the BMC accepted the command and the power state did not follow
	// in time.
	ErrNotObserved = errors.New("power state not reached in time")
	// ErrNotTaken: the BMC was too busy for the order, for all of its budget.
	ErrNotTaken = errors.New("the BMC did not take the order in time")
	// ErrNotBegun: the BMC could not be asked before the command was too old.
	ErrNotBegun = errors.New("command not begun in time")
)

const (
	defaultBudget = 5 * time.Minute
	// forceBudget is how long ForceOff may take to be seen, unless Options say otherwise.
	forceBudget = 2 * time.Minute
	// maxQueue bounds what waits for one BMC, maxHistory what is remembered.
	maxQueue   = 16
	maxHistory = 32
)

func (c Command) validate() error {
	switch {
	case c.ID == "":
		return fmt.Errorf("%w: no ID", ErrInvalidCommand)
	case c.Kind.ofSystem() && c.System == "":
		return fmt.Errorf("%w %q: no System", ErrInvalidCommand, c.ID)
	case !c.Kind.ofSystem() && c.System != "":
		return fmt.Errorf("%w %q: %s is for no system", ErrInvalidCommand, c.ID, c.Kind)
	}
	missing := ""
	switch c.Kind {
	case PowerOn, PowerOff:
	case Reset, ResetManager:
		if c.Reset == "" {
			missing = "Reset type"
		}
	case SetIndicator:
		if c.Indicator == "" {
			missing = "Indicator"
		}
	case SetBootOrder:
		if len(c.BootOrder) == 0 {
			missing = "BootOrder"
		}
	default:
		return fmt.Errorf("%w %q: unknown kind %q", ErrInvalidCommand, c.ID, c.Kind)
	}
	if missing != "" {
		return fmt.Errorf("%w %q: no %s", ErrInvalidCommand, c.ID, missing)
	}
	return nil
}

// supersedes says that c makes an older command pointless which has not begun
// or only waits: both are about the power of one system, or set the same thing there.
func (c Command) supersedes(old Command) bool {
	if !c.Kind.ofSystem() || c.System != old.System {
		return false
	}
	return c.Kind == old.Kind || c.Kind.power() && old.Kind.power()
}

// order is what is submitted: a command, or a job.
type order struct {
	Command
	run    func(context.Context, Services) error // of a job
	status CommandStatus                         // how it begins
}

// command is a Command on its way. It belongs to the actor's goroutine.
type command struct {
	Command
	run       func(context.Context, Services) error // of a job
	status    CommandStatus
	submitted time.Time
	deadline  time.Time // of what it waits for now
	stage     stage
	sentAt    time.Time // of the last reset
	doubtful  bool      // that reset may not have arrived
	pollAt    time.Time
	pollAfter time.Duration
	settling  settling
	cause     error     // last failure, for the message at the end
	refusal   error     // what the last request that changes something was answered, until the BMC takes one
	forceBy   time.Time // when ForceOff is given up that the BMC does not take
}

// stage is how far a running command is.
type stage int

const (
	stageBegin  stage = iota // nothing sent yet
	stageAsked               // the BMC was asked: On, GracefulShutdown or Reset
	stageForced              // ForceOff was sent
)

func newCommand(o order, now time.Time) *command {
	if o.Budget <= 0 {
		o.Budget = defaultBudget
	}
	return &command{Command: o.Command, run: o.run, status: o.status, submitted: now}
}

func (c Command) queued() CommandStatus {
	return CommandStatus{ID: c.ID, Kind: c.Kind, Holder: c.Holder, State: Queued}
}

// expires is when the command ends even if its BMC cannot be asked.
func (c *command) expires(o *Options) time.Time {
	switch {
	case c.status.State == Queued:
		return c.submitted.Add(c.Budget + 2*o.MaxBackoff)
	case c.Kind == PowerOff && c.Force && c.stage != stageForced:
		return c.deadline.Add(o.ForceBudget)
	default:
		return c.deadline
	}
}

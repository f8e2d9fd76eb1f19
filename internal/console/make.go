package console

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// entry is how the console is entered from a BMC's command line, and left again.
type entry struct {
	// command is typed there; empty: the SSH server leads to the console itself.
	command string
	// leave are the keys that lead from the console back to the command line.
	leave string
}

// makes says what each make's command line understands.
var makes = map[bmc.Vendor]entry{
	bmc.Dell:       {"console com2", "\x1c"},         // iDRAC: Ctrl-\
	bmc.HPE:        {"VSP", "\x1b("},                 // iLO: Esc (
	bmc.Lenovo:     {"console 1", "\x1b("},           // XClarity Controller: Esc (
	bmc.Supermicro: {"start /system1/sol1", "\x1bT"}, // SMASH CLP (DSP0214): Enter Esc T
}

// Reasons of a Refusal.
const (
	ReasonNoConsole       = "NoConsole"
	ReasonHostKey         = "HostKeyNotAccepted"
	ReasonPasswordRefused = "PasswordRefused"
	ReasonUnreachable     = "BMCUnreachable"
	ReasonTooMany         = "TooManyViewers"
	ReasonIdle            = "Idle"
	ReasonSlow            = "TooSlow"
	ReasonStopped         = "Stopped"
	ReasonForbidden       = "Forbidden"
	ReasonNotFound        = "NotFound"
)

// Refusal is why a console ends and is not tried again until somebody has changed something.
type Refusal struct {
	Reason string
	Err    error
}

func (r *Refusal) Error() string { return r.Err.Error() }

func (r *Refusal) Unwrap() error { return r.Err }

func refuse(reason, format string, values ...any) error {
	return &Refusal{reason, fmt.Errorf(format, values...)}
}

// reasonOf is the reason of an error; what is no Refusal is about a BMC that cannot be reached.
func reasonOf(err error) string {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r.Reason
	}
	return ReasonUnreachable
}

// Wish is what the objects say about a console.
type Wish struct {
	// Vendor is who made the BMC, and Shown what its Redfish service says of the console.
	Vendor bmc.Vendor
	Shown  bmc.SerialConsole
	// Protocol is that of spec.consoleProtocol: SSH, IPMI or empty; Port is its port, 0 where none is set.
	SSH, IPMI bool
	Port      int
}

// plan decides how a console is entered: as the BMC says, or else as its make does.
func (w Wish) plan() (e entry, port int, err error) {
	e, known := makes[w.Vendor]
	port = cmp.Or(w.Port, w.Shown.Port)
	switch {
	case w.Shown.Known && !w.Shown.Enabled && !w.SSH:
		return e, 0, refuse(ReasonNoConsole, "its BMC has no serial console over SSH switched on (SerialConsole.SSH.ServiceEnabled is false)")
	case w.Shown.Known && !w.Shown.Shared:
		return entry{}, port, nil
	case w.Shown.Known && w.Shown.Command != "":
		e.command = w.Shown.Command
		return e, port, nil
	case known && !w.IPMI:
		return e, port, nil
	case w.SSH:
		return entry{}, port, nil
	case w.IPMI:
		return e, 0, refuse(ReasonNoConsole, "spec.consoleProtocol of its BMC says IPMI, which Farrier does not speak")
	}
	return e, 0, refuse(ReasonNoConsole, "its BMC shows no SerialConsole, and Farrier does not know the make's; set spec.consoleProtocol of the BMC where its SSH server leads to the console")
}

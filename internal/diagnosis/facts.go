package diagnosis

import (
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
	"github.com/farrier-dev/farrier/internal/logbook"
)

// Facts is everything that an explanation may look at. What is nil or empty does not exist, or could not be read.
type Facts struct {
	Now time.Time
	// Asked is what somebody asked about: a name, a MAC address or a UUID.
	Asked string

	// Claim is the one that somebody asked about, or that has the Server.
	Claim  *metalv1.ServerClaim
	Server *metalv1.Server
	BMC    *metalv1.BMC
	// Config is what the server boots now, and OfProbe says that it boots the probe.
	Config  *metalv1.ServerBootConfiguration
	OfProbe bool
	// Boots are the newest boots of the machine, the last one last, as far as the boot server remembers them.
	Boots []bootview.Boot
	// Logged is what the logbook has of the server, the oldest first.
	Logged []logbook.Entry

	// Unknown are the machines of that name that were told that there is nothing for them, the last one first.
	Unknown []bootview.UnknownMachine
	// Candidates are the Assignments that select the machine, the best first.
	Candidates []profile.Candidate
	// Servers are all of them, where the cause may be that none fits.
	Servers []metalv1.Server

	// NotRead says what could not be read, and why.
	NotRead []string
}

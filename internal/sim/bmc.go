package sim

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// bmc is one management controller: what answers at its address.
type bmc struct {
	rack     *Rack
	index    int
	at       netip.AddrPort
	mac      string
	quirks   *personality
	machines []*Machine
	stats    stats
	log      eventLog
	sshPort  uint16 // 0: it has no SSH server

	mu             sync.Mutex
	accounts       []account
	nextAccount    int
	sessions       []session
	nextSession    int
	newestSession  map[string]int // of each account, of those that were used
	sessionSeconds int
	fault          Fault
	// filledBy is the fault that filled the session table, accountsFilledBy the one that filled the table of accounts.
	filledBy, accountsFilledBy string

	awayUntil   time.Time // while it restarts
	lockedUntil time.Time // while a job of its own holds the boot settings
	settings    managerSettings
	newFirmware string // version, if it was updated
	ownBackup   backup

	tasks            []task
	nextTask         int
	subscriptions    []subscription
	nextSubscription int
	nextEvent        int
}

// bmcKey finds the BMC that a connection was made to.
type bmcKey struct{}

// newBMC makes the BMC with an index, and the machines behind it.
func newBMC(rack *Rack, index int, quirks *personality, at netip.AddrPort, addresses plan) *bmc {
	b := &bmc{rack: rack, index: index, at: at, quirks: quirks, sessionSeconds: defaultSessionSeconds, nextAccount: 2}
	for n := range rack.opts.SystemsPerBMC {
		machine := index*rack.opts.SystemsPerBMC + n
		inv := newInventory(rack.opts.Seed, machine)
		if rack.opts.Computers != nil {
			inv.model = rack.opts.Computers.model()
		}
		b.machines = append(b.machines, newMachine(b, n+1, inv, addresses.machine(machine)))
	}
	b.mac = b.machines[0].mac
	b.accounts = append(b.accounts, account{id: quirks.adminID, user: rack.opts.Username, password: rack.password, role: roleAdministrator, enabled: true})
	return b
}

// name is what an Endpoint of the BMC is called.
func (b *bmc) name() string { return fmt.Sprintf("sim-%04d", b.index+1) }

// struck reports whether a fault strikes at this BMC now.
func (b *bmc) struck(kind fault.Kind, path string) (fault.Strike, bool) {
	return b.rack.faults.Strikes(b.index, kind, path)
}

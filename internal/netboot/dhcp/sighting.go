package dhcp

import "net/netip"

// Sighting is a client that has an address of ours: it has just taken it, or taken it for longer, or has it from before we started.
type Sighting struct {
	// Client is who it is, with a MAC address, and what it says of itself, if that is still known.
	Client Client
	Addr   netip.Addr
	// Held are all addresses that the client has at this moment, Addr among them.
	Held []netip.Addr
	// Machine says that it boots or has booted from the network, or that something is there for it to boot.
	Machine bool
	// Apart says that a boot server which stands apart leases the address and says all this, and Site which site's machines it answers; empty: those of none.
	Apart bool
	Site  string
	// Addresses is how many of them there are for all clients.
	Addresses int
}

// taken are the steps of an exchange after which the client has the address.
var taken = map[string]bool{"ack": true, "reply": true}

// Leased reports whether an event leaves a client with an address of ours, and with a MAC address to know it by.
func (e Event) Leased() bool { return e.Addr.IsValid() && e.Client.MAC != "" && taken[e.Step] }

package dhcp

import "net/netip"

// Sighting is a client that has just taken an address of ours, or taken it for longer.
type Sighting struct {
	// Client is who it is, and what it says of itself. Its MAC is never empty.
	Client Client
	Addr   netip.Addr
	// Held are all addresses that the client has at this moment, Addr among them.
	Held []netip.Addr
	// Machine says that it boots from the network, or that something is there for it to boot.
	Machine bool
	// Addresses is how many of them there are for all clients.
	Addresses int
}

// taken are the steps of an exchange after which the client has the address.
var taken = map[string]bool{"ack": true, "reply": true}

// Leased reports whether an event leaves a client with an address of ours, and with a MAC address to know it by.
func (e Event) Leased() bool { return e.Addr.IsValid() && e.Client.MAC != "" && taken[e.Step] }

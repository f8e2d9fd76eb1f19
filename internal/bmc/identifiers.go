package bmc

import "github.com/farrier-dev/farrier/internal/identity"

// canonicalUUID is the canonical form of a UUID; empty for a placeholder, which would make one machine of many, and for what is no UUID.
func canonicalUUID(s string) string { return identity.MachineUUID(s) }

// canonicalMAC is the canonical form of a MAC address; empty for a placeholder and for what is none.
func canonicalMAC(s string) string { return identity.MachineMAC(s) }

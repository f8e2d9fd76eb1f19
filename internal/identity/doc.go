// Package identity holds the canonical spellings of what a machine can be
// known by: its SMBIOS UUID, its MAC addresses and its IP addresses.
//
// Firmware, BMCs, people and DHCP servers spell each of them differently.
// Every index in Farrier is keyed by the canonical form, and every input is
// turned into it at the border, so that comparing is comparing strings.
package identity

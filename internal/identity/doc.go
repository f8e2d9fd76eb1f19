// Package identity says what a machine can be known by: its SMBIOS UUID, its MAC addresses, its serial number and its IP
// addresses. No other package spells, compares or judges them.
//
//   - identity.go spells. Firmware, BMCs, people and DHCP servers write one identity in many ways; every input is brought into its
//     canonical form where it comes in, so that to compare is to compare strings.
//   - octets.go does the same without allocating, for the indexes that answer machines.
//   - machine.go says which identities identify a machine. A vendor ships the same placeholder on every board (placeholder.go): it
//     identifies none, and two machines that have it are not duplicates.
package identity

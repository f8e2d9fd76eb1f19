// Package lease keeps which client has which IP address, in memory and in a file that outlives the process.
//
// A client is a MAC address, not the client identifier of RFC 2131 §2: firmware, iPXE and an operating system send different
// identifiers, and one machine would go through three addresses in one boot. A client has one lease in each subnet.
//
// # Who gets which address
//
// A reservation first; then the address that the client had, for as long as nobody else has it; then the one that it asks for; then
// one that nobody had; then the one of a stranger whose lease ended first, and of a known machine only when nothing else is left. So the address of a
// known machine stays the same as long as there is room.
//
// # Strangers
//
// Anybody can invent MAC addresses. Strangers together have at most three quarters of the pool, and only a quarter of it
// can be offered to them at a time without having been taken, for OfferTime. The rest is for machines that are known.
package lease

// Package tftp sends boot programs to firmware: TFTP (RFC 1350), reading only, with the options blksize (RFC 2348), timeout and tsize (RFC 2349) and
// windowsize (RFC 7440).
//
//	packet ──▶ readRequest ──▶ transfer: what to send next, pure ──▶ packets
//
// UEFI firmware (OVMF) asks twice: with tsize, only to abort with error 8 when it knows the size, and again to read. That is no failure.
//
// # Ports
//
// RFC 1350 §4 has a server answer from a port of the transfer's own. With SinglePort everything comes from the port that was asked, which a firewall or an address
// translation in between understands, and clients accept.
//
// # Strangers
//
// Anybody can ask, in the name of anybody. What nobody acknowledges is sent three times at most, a host has few transfers at a time, and a
// transfer without progress ends.
package tftp

// Package v4 is DHCP over IPv4 (RFC 2131, RFC 2132, RFC 4578): what machines ask, in the terms of package dhcp, and the packets that answer them.
//
// Handler is pure but for the pool of leases: a packet in, a packet and where it goes to out. Server, in the files server*.go, has the sockets.
//
// In proxy mode another DHCP server leases addresses, and Handler says only what to boot: it offers no address, answers port 4011 as firmware asks there (PXE
// 2.1 §2.2.4), and leaves requests on port 67 alone, since those are for the other server. In server mode it leases too.
// Search finds the other servers that are there then.
package v4

// Package neighbour tells the MAC addresses of hosts on the segments that this host is on, from the kernel's neighbour table (ARP, RFC 826; and
// neighbour discovery, RFC 4861). Whoever has just opened a connection is in it. A host behind a router is not, and neither is any on a system
// other than Linux.
package neighbour

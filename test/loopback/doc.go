// Package loopback has the addresses that a test or a benchmark must know before the program that will listen at them starts, or that somebody listens at a
// second time.
//
// A port that the kernel chose (":0") and that nobody holds is soon given to somebody else: to a listener, or to a connection that this host
// opens, of which a test run opens thousands. The addresses of this room are of an IP address that only this process uses, and their ports are
// below those from which the kernel chooses (ip_local_port_range).
package loopback

// Package tcpstate asks the kernel what a connection has come to. A server hears of a new connection before
// it hears that the one before it has ended; whoever counts connections has to know better.
package tcpstate

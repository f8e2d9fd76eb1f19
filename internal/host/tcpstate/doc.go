// Package tcpstate asks the kernel for the state of a connection. A server learns of a new connection before it learns that the
// previous one has ended, so a limit on connections needs the kernel's answer.
package tcpstate

// Package hostcheck refuses requests that a browser was tricked into sending to an address of its own host (DNS rebinding).
//
// A page of any origin may resolve its own name to 127.0.0.1 and then read what a server there answers: to the browser that is the
// page's own server. Such a request carries the page's name in its Host header, and nobody else's does: whoever means a server
// on this host asks for an IP address, for localhost, or for a name that the server was told is its own.
//
// Requests that reach the server at another address are not looked at. Machines boot by whatever name their DHCP server gave them.
package hostcheck

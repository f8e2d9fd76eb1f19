// Package link does on a segment what UDP sockets cannot: it sends to a host that does not have its address yet, asks whether somebody has an address, asks all hosts
// without taking a port from this one, and binds sockets to one interface.
//
// It needs the capabilities CAP_NET_RAW for the first three and CAP_NET_BIND_SERVICE for the ports of DHCP and TFTP. It works on Linux alone; elsewhere every
// function returns ErrUnsupported.
package link

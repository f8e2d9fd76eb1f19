// Package v6 is DHCP over IPv6 (RFC 8415) with what it says to machines that boot (RFC 5970), and router advertisements (RFC 4861), without which iPXE waits 14 s.
//
// Packets are decoded here, option by option, so that an option that nobody needs cannot make a packet unreadable: firmware and iPXE write some of them as
// they did before there was an RFC.
//
// Handler is pure but for the pool of leases. In server mode it leases one address to a client; in proxy mode it says what to boot and offers no address.
package v6

// Package service runs DHCP and TFTP from what flags say: it finds the interfaces, opens the sockets and the file of leases, and counts what is answered. It
// decides nothing. A manager and a boot server that stands apart start the same service.
//
//	Options    what flags say; Bind binds them
//	Settings   the same after Check: what cannot work is refused by the name of its flag
//	Service    what answers, once there is somebody to ask what machines get
//
// Beside answers there are two things that server mode alone has: a search for other DHCP servers (search.go), and reports of the clients that have addresses
// (sightings.go).
package service

// Package pid1 is what metalprobe does where it is the only program: as /init of the discovery image, on a bare kernel.
//
// There are two processes, for whatever happens to the second must not end the first: a kernel whose /init ends stops. [Supervise] is the first. It
// mounts what programs expect, prints on every console of the machine what the second says, starts that again when it ends, and reaps orphans.
// [Discover] is the second. It loads drivers, brings up every link, finds out where to report, has package probe do so, and ends the machine as ordered.
//
//	supervise.go  the first process
//	console.go    every console that a person may look at
//	discover.go   the second process
//	modules.go    drivers for the devices that are there
//	network.go    links, their addresses, routes and name servers; lease.go asks DHCP servers
//	network6.go   the same for IPv6 where addresses come from DHCP; situation.go decides that, lease6.go asks
//	settings.go   the kernel's command line
//	locate.go     where to report to: what the boot server says to this machine
package pid1

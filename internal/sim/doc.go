// Package sim is a rack that does not exist: any number of servers, each with a
// BMC that speaks Redfish and a machine that really boots over the network.
//
// [Start] opens the rack. Every BMC has an IP address of its own out of
// 127.0.0.0/8: one listener, bound to the loopback device, answers for all of
// them and tells by the local address of a connection which one is meant. Where
// that is not possible, or a concrete address is asked for, every BMC has a port
// of its own.
//
// Behind a BMC stands a [Machine]. Turned on, it does what firmware and an
// operating system do, over real HTTP: it passes its power-on self test, asks the
// URL that a DHCP server would have told it, runs the iPXE script it gets
// (package ipxe), fetches kernel and initramfs, then what the kernel's command
// line names. What runs then is up to the ignition: if it starts metalprobe, the
// machine runs the real agent over invented hardware, else it is an installed
// system. Every boot leaves a [BootRecord] of what was fetched, with digests.
//
// Machines have disks. An installed system leaves a partition table, a file system and a
// tenant's data on them; if its ignition or command line has it tell /bootstate, it boots from
// there afterwards. An agent that is ordered to clean wipes them with the code that wipes real
// ones, so what [Rack.Disks] still finds is what it would have left.
//
// What goes wrong is said by package fault, at the start or with
// [Rack.InjectFault]. How BMCs differ by vendor is one table, in vendor.go.
//
// The files, from outside in:
//
//	rack.go, address.go, tls.go     the rack, its listeners and its certificates
//	bmc.go, stats.go, peer*.go      one BMC and what it counts
//	redfish.go, failure.go          one Redfish request: authentication, methods, ETags, errors
//	fault.go, tamper.go             what goes wrong with it when asked to
//	vendor.go                       the quirks of vendors
//	auth.go, account.go, session.go who may do what
//	tree*.go, paths.go, bios.go     the resources
//	task.go, update.go, events.go, logs.go  the services that do something by themselves
//	admin.go                        what can be seen and changed from outside while it runs
//	power.go                        what a reset does to a machine
//	machine.go, record.go           one machine and what it remembers of its boots
//	firmware.go, bootorder.go, fetch.go  from power-on to a kernel, and what is tried when that fails
//	os.go, ignition.go              from a kernel to a running system
//	disk.go, erase.go               what is on its disks, and how they are erased
//	inventory.go, report.go         what the machine is made of, as its BMC and as its agent see it
//
// An idle server costs less than two kilobytes and no goroutine: ten thousand of them
// fit into one small process.
package sim

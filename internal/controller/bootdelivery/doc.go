// Package bootdelivery keeps the boot view true to the IPXEBootConfigs and HTTPBootConfigs, and
// their status true to the boot view. Everything that a machine will be given is
// rendered here, when an object changes, so that answering a machine is a lookup. Boot configs of the probe
// are in memory (derived.go), and rendered like the others.
//
// What machines then fetch comes back as deliveries (deliveries.go): they are noted in memory
// by the boot server's callback, which never blocks, and become conditions here.
package bootdelivery

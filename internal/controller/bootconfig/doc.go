// Package bootconfig turns a ServerBootConfiguration, an image and an ignition for a server,
// into what boot servers deliver. What the image holds decides the boot method: kernel
// and initramfs make an IPXEBootConfig, a UKI an HTTPBootConfig, both make both.
// One controller decides, once; nothing else writes those objects. Those of the probe are no objects (derived.go).
//
// tell.go makes events of what cannot be booted. With another boot provider, pending.go says of what is new that it is Pending, and
// nothing else here runs.
//
// The registry is never asked here: internal/image/registry resolves in the background
// and wakes this controller when it knows.
package bootconfig

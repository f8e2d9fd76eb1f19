// Package image gets boot images out of OCI registries: it finds out what an
// image offers a machine, and it serves the bytes.
//
// A Reference names an image as people write it. The Resolver turns it, in the
// background, into a Plan: which layers of the image are kernel, initramfs,
// squashfs and UKI. It never makes anybody wait; it keeps the last good answer
// when the registry is away, and says so. LayerURL and UKIURL turn a Plan into
// the URLs that machines are given.
//
// Blobs answers these URLs. It keeps layers on disk, bounded; downloads each
// once however many machines want it, and passes it on while it downloads. The
// last byte of a blob leaves only after the whole was verified, so that a
// machine never has a bad one. A part of a blob is sent of a verified one only.
// A download that broke off, in this run or an earlier one, is taken up where
// it was; what mirrors send is believed no more than that.
//
// Anybody can ask for a blob. What somebody is going to boot is needed (needs.go).
// All else has a budget (budget.go) and a share of the cache (room.go), is sent
// only when it is verified, and ends when nobody waits for it (watch.go); nothing
// of it delays or evicts what is needed.
//
// Both sides share one registry client (upstream), which talks to allowed
// registries only, verifies every manifest, and does not let a registry lead it to
// private networks or this host (network.go).
//
// The package knows nothing of Kubernetes. Package localregistry beside it is a
// small registry for tests and for the demo.
package image

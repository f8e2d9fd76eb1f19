// Package registry finds out what images in OCI registries offer a machine.
//
// A Reference names an image as people write it. A Client asks registries: it talks to allowed ones only, and to their mirrors first; it
// verifies every manifest; it does not let a registry lead it to private networks or to this host (network.go). A Resolver turns
// references, in the background, into Plans: which layers of the image are kernel, initramfs, squashfs and UKI. Nobody waits for it; it
// keeps the last good answer while a registry is away, and reports that it is away.
//
// Where signatures are required, it finds those of an image (signatures.go), and package signature verifies them.
//
// A folder of image layouts can stand for a registry (layouts.go): all others see no difference.
//
// LayerURL and UKIURL turn a Plan into the URLs that machines are given, ParseURL reads them again.
//
// The package knows nothing of Kubernetes. Package blobcache fetches what plans name; localregistry is a small registry for tests and
// for the demo.
package registry

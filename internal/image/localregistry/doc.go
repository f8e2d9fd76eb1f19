// Package localregistry runs a small, real OCI registry in this process, on a
// loopback address, and makes small boot images to put into it. The demo boots
// its machines from it, and tests do.
//
// Its contents live in memory and are gone when it stops. [StartLayouts] runs one that only reads, from a folder of OCI image layouts.
package localregistry

// Package fulldisk fills the disk under Farrier while it works.
//
// The disk is a tmpfs in a mount namespace of the test's own, so that it needs no privileges where users may have namespaces, and leaves nothing behind.
package fulldisk

// Package datadir guards the directory that holds the state of an embedded control plane.
//
// One process at a time may use it, and only one that understands its format. The lock is a flock on the directory itself: the kernel
// drops it with the process, however the process ends, and taking it writes nothing, so a directory of a newer format is refused untouched.
//
// The directory is closed to everybody but its owner, and refused when it is another user's: who owns it could replace the keys in it.
package datadir

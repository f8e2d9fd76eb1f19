// Package metadata keeps what running machines may learn about themselves: the boot view's instances.
//
// The fields of a machine are, later ones winning: those of a file that are the same for all, its server's name, and
// what the Server's annotations and then its labels say below metadata.metal.ironcore.dev/. Its user data is the Secret of
// type metal.ironcore.dev/user-data that the claim which has the server names; no other Secret is read.
package metadata

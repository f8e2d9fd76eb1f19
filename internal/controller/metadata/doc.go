// Package metadata maintains the metadata that running machines may read about themselves: the instances of the boot view.
//
// A machine's fields come from these sources, of which a later one overrides an earlier one: a file for all machines, the name of
// its Server, and the Server's annotations, then labels, below metadata.metal.ironcore.dev/. Its user data is the Secret of type
// metal.ironcore.dev/user-data that the Server's claim names. The package reads no other Secret.
package metadata

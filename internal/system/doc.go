// Package system puts the parts of Farrier together in one process: the embedded
// Kubernetes API, the controllers with their fleet, the boot server, and, if asked for, a
// simulated rack with a registry of its own. It holds wiring and no decisions.
//
// `farrier up` and `farrier demo` are two ways to start the same System.
package system

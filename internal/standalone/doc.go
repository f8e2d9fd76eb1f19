// Package standalone is the whole of Farrier in one process: an embedded Kubernetes API with its store, the
// system around it (internal/system), and, if asked for, a simulated rack with a registry of its own. It holds wiring and no
// decisions.
//
// `farrier up` and `farrier demo` are two ways to start the same System.
package standalone

// Package standalone is all of Farrier in one process: an embedded Kubernetes API with its store, the system around it
// (internal/system) and, on request, a simulated rack with an image registry. It contains wiring and no decisions.
//
// `farrier up` and `farrier demo` are two ways to start the same System.
package standalone

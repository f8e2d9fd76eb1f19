// Package manager tests farrier-manager as it is built: processes on a Kubernetes API that they are given, taking turns
// over one simulated rack.
package manager

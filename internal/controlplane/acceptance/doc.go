// Package acceptance holds the tests of package controlplane. They run against the control plane as a child process, so that they can kill it
// and so that the race detector does not have to be built into the API server.
package acceptance

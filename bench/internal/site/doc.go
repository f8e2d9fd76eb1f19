// Package site runs what a site consists of as processes of their own, as they would run in a cluster:
//
//   - api.go: a Kubernetes API with Farrier's kinds, from the test control plane's binary;
//   - rack.go: simulated BMCs and machines, and the registry that they boot from, as a child of the benchmark;
//   - manager.go: a farrier-manager, whose memory and metrics can be asked for;
//   - metrics.go: the few series of both that benchmarks look at.
package site

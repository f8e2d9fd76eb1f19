// Package bootstream has tests of the boot stream from end to end, without Kubernetes: the views of a manager, mutual TLS over loopback, and
// a boot server that answers machines from what it has received and kept.
package bootstream

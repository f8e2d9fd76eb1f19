// Package acceptance tests Farrier as its users run it: the built binary in a process of its
// own, a rack and a registry that outlive it, and nothing but the Kubernetes API in between.
//
// The test binary does not contain the product, so it may kill it.
package acceptance

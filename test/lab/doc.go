// Package lab is a rack of simulated machines and a registry that outlive the product, for tests of the built binary
// that kill it, break what stands around it, or attack it.
package lab

// Package product starts the built binary for tests, as its users do: `farrier up` in a process
// of its own, on a data directory that outlives it, spoken to over its API and its boot address.
package product

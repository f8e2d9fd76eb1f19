// Package metal runs metal-operator's command line, Go API and sample manifests, as they were published, against `farrier up`.
//
// TestApply and TestEndpoints write with the Go API what clients write whose own modules are not to be had; docs/clients.md
// says which.
package metal

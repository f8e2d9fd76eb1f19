// Package streaming serves the boot stream as a manager does: over mutual TLS, to boot servers in other processes.
package streaming

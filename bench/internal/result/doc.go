// Package result writes what a benchmark found, together with where it was found.
package result

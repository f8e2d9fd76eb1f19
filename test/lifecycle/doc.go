// Package lifecycle holds its README to its word: each sentence about the life of a server names tests, and these exist.
package lifecycle

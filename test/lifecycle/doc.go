// Package lifecycle holds docs/lifecycle.md to its word: what it says is tested, is.
package lifecycle

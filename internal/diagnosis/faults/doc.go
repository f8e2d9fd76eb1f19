// Package faults has the facts of what goes wrong often, for tests: whoever says why something is not where it should be says the same of each.
package faults

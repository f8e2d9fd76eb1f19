// Package rules holds pages of the documentation to the tests that they name: a page that says which test proves a
// sentence must not name one that was renamed or removed.
package rules

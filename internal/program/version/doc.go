// Package version says which Farrier this is.
package version

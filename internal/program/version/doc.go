// Package version says of what a program of Farrier is built: version, commit, Go and platform.
package version

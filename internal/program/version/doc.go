// Package version holds the version of Farrier.
package version

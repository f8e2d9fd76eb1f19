// Package status is how `farrier status` shows an overview.
//
//	watch.go  looks again and again, and tells what has changed
//	draw.go   the picture, for a terminal or for a file
package status

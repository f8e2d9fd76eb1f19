// Package diskspace asks how much room a file system has, and takes room for a file before the file needs it.
package diskspace

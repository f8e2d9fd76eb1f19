// Package progress gives whoever downloads a file as long as the file takes, and ends a download that stands still.
package progress

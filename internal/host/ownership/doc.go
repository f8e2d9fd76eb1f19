// Package ownership says whose a file or directory is, refuses what others could have put in our way, and tells people what to do about it.
package ownership

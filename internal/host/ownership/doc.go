// Package ownership checks who owns a file or directory, refuses those that another user could have planted, and tells people how
// to fix it.
package ownership

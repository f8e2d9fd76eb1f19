// Package usage runs a command line and explains its errors: which flag or argument is wrong, which one was probably meant, and
// where the help is. All commands share it, so that they speak alike.
package usage

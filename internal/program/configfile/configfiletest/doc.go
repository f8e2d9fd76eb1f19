// Package configfiletest checks, for tests, that a command takes each of its flags from a file as well as from the command line.
package configfiletest

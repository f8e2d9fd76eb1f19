// Package attach connects a terminal with the serial console of a server at the operator address (package console has the other end).
//
//   - keys.go: what a person types for the command itself. attach.go: the connection, made again when it breaks.
package attach

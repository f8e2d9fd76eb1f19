// Package scenario is what the demo does with a running system: a list of named steps, from the Endpoints of a
// rack to servers that were claimed, booted, released and are available again.
//
// It is an ordinary client of the API. Watches fill a World (world.go, watch.go), which also
// keeps a journal of every change that counts. A step (step.go) does something, if it has
// something to do, and then waits until the World looks as it should; checks.go holds what that
// means, as pure functions. verify.go compares what machines fetched with what registry and
// Secret hold. picture.go and history.go tell package show what to show.
package scenario

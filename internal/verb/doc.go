// Package verb has the changes that people ask for by name: claim, release, power, park, cordon, wipe, maintain, add. Each is an Order: what
// is written into objects, the kubectl commands that write the same, and how to see that it has come about. An Order that no object can
// carry out is refused with what to do instead.
//
//	order.go     an Order, and what carries it out
//	look.go      what a server does, while an Order waits
//	power.go     power of a claim, of a maintenance, resets; operation.go operations, park, cordon
//	claim.go     claims and their release; wipe.go; maintain.go; bmc.go
package verb

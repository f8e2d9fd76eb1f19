// Package rolloutpolicy lets changes of a fleet begin as RolloutPolicies say: how many servers may be unavailable at once, in which
// waves, at which times, and after how many failures nothing further begins.
//
// A change is what one Set asks for: an item for each of its targets. The children of a Set with a policy begin nothing without a permit
// (package rolloutpermit), and this room gives them. It never touches a server, and a child that has begun goes its own way.
//
// There is one decision for all changes, because they share the servers. It is made by one worker, at most once in some seconds:
//
//	gather.go   policies, changes and servers become a view
//	item.go     how one child stands, by its permit, its state and its servers: an item, and what its permit is to be
//	gates.go    what a complete change still lacks: its servers back, and the gates of its wave
//	decide.go   per change, the oldest first, package rollout says which items may begin (pure)
//	act.go      permits are written, and boots of the probe are asked for, only if nobody wrote in between
//	report.go   the status of the policies, and events of the Sets
//	plan.go     what would happen, for people, before anything does
//	proposal.go the same of Sets that nobody has applied yet
//
// A permit counts from the moment that it may have been written (memory.go): a cache that does not show it yet would have as many begin again.
package rolloutpolicy

// Package allocator chooses the Servers that ServerClaims get. It has no I/O: the same objects always lead to the same choice, in
// whatever order they are observed.
//
//   - standing.go says of one Server whether it is free, and what keeps claims away if not.
//   - request.go says what a claim asks for; claims that ask for the same share one request.
//   - [Pool] (pool.go, posting.go) indexes all Servers by their labels and standing. It takes
//     changes ([Pool.Observe], [Pool.Forget]) and never goes through all Servers.
//   - pending.go holds the claims that wait, by request. A request that no free Server fits is unmatched: Match skips
//     it until a Server that fits becomes free.
//   - match.go chooses free Servers for the claims that wait, oldest first.
//   - assume.go: the chosen Server is assumed until [Pool.Observe] shows the write that binds it, or that write fails ([Pool.Bound],
//     [Pool.Conflict]).
//   - explain.go says why a claim has no Server, and for how many Servers each reason holds.
//
// The cost of a claim depends on the Servers that its most selective label finds, at
// most [candidates] of which are compared, and not on the number of Servers.
package allocator

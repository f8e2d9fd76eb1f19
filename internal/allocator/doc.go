// Package allocator chooses the Servers that ServerClaims get. It is memory and
// nothing else: what it is told of decides, and the same news always give the
// same answer, in whatever order they came.
//
//   - standing.go says of one Server whether it is free, and what keeps claims away if not.
//   - want.go says what a claim asks for; claims that ask for the same share one want.
//   - [Pool] (pool.go, posting.go) knows all Servers by their labels and standing. It is told of
//     changes ([Pool.Observe], [Pool.Forget]) and never looks through all Servers.
//   - pending.go holds the claims that wait, by what they want. A want that nothing was found for is dry, and
//     is left alone until a Server that fits it becomes free.
//   - match.go gives the free Servers to the claims that wait, oldest first; what is given is held
//     back until the news of it has come round ([Pool.Taken]) or the gift has failed ([Pool.Lost]).
//   - explain.go says why a claim has nothing, and how many Servers each reason holds for.
//
// What a claim costs depends on the Servers that its most selective label finds, at
// most [candidates] of which are compared, and not on how many Servers there are.
package allocator

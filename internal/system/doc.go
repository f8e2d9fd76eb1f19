// Package system puts the parts of Farrier together around a Kubernetes API: the controllers with their
// fleet and their boot view, and the servers that machines and BMCs speak to. It holds wiring and no decisions.
//
// Which API that is, is its starter's business. `farrier up` has one of its own in the same process
// (internal/standalone); `farrier-manager` is given one, and may have to wait for its turn: then caches are kept
// (Options.LeaderElection), and nothing is sent, served or listened on.
package system

// Package system connects the parts of Farrier around a Kubernetes API: the controllers with their fleet and their boot view, and
// the servers that machines, boot servers and BMCs talk to. It holds wiring and no decisions.
//
// The caller provides the API. `farrier up` runs one in the same process (internal/standalone). `farrier-manager` connects to the API of a cluster.
//
// What is there for the life of the process (system.go, views.go): one cache, the views of what machines get with the controllers that keep them,
// images, the boot stream (bootstream.go), and the pages of health and metrics. What acts has a term (term.go): as long as the process holds the Lease
// (election.go, lease.go), or all the time where there are no others (Options.LeaderElection). A term has a fleet and controllers of its own, and leaves
// nothing behind. The API may go away at any time (contact.go): that ends a term, and never the process, which goes on answering machines.
package system

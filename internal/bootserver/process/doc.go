// Package process is farrier-bootserver: a boot server that stands apart from the manager and holds no credentials of Kubernetes.
//
//	command.go       the command line; flags.go has the flags of its own, package setup those that the manager has as well
//	process.go       puts the parts together, runs them, and stops them in an order in which nothing is lost
//	certificates.go  who we are on the boot stream: files, or what joining has brought
//	disk.go          the last view and the outbox, on disk where there is a key for them
//	feed.go          records become the view that machines are answered from
//	status.go        how we stand: revision, readiness, how long secrets may be used
//	reports.go       what machines report goes to the manager before they are answered
//	tell.go          what waits in the outbox goes to the manager when there is one
//	pages.go         health, metrics and profiles
//
// A request touches the view, which is memory, the outbox, which is memory as well, and for a report the manager. Neither a manager that is away
// nor a full disk keeps an answer waiting.
package process

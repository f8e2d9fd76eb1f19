// Package system connects the parts of Farrier around a Kubernetes API: the controllers with their fleet and their boot view, and
// the servers that machines and BMCs talk to. It holds wiring and no decisions.
//
// The caller provides the API. `farrier up` runs one in the same process (internal/standalone). `farrier-manager` connects to the
// API of a cluster and may have to wait for leadership: until then it fills its caches (Options.LeaderElection) and sends, serves
// and listens on nothing. A process that loses its lease keeps serving machines (leaselost.go).
package system

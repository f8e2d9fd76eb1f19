// Package bmcreset restarts a BMC over SSH, which often still answers when Redfish does not.
//
// A makers' table (make.go) says what to type. Worker has a few goroutines that type it (worker.go), each
// within a deadline: a reconcile only leaves a request and is woken when there is a result. The connection is that of package bmcssh (dial.go).
package bmcreset

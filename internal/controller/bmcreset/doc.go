// Package bmcreset restarts a BMC over SSH, which often still answers when Redfish does not.
//
// A makers' table (make.go) says what to type. Worker has a few goroutines that type it (worker.go), each
// within a deadline: a reconcile only leaves a request and is woken when there is a result. The key
// that a BMC shows first is remembered by its owner; to a BMC that shows another one no
// password is told (dial.go).
package bmcreset

// Package bmcreset restarts a BMC over SSH, which often still answers when Redfish does not.
//
// A makers' table (make.go) says what to type. Worker has a few goroutines that type it (worker.go), each
// within a deadline: a reconcile only leaves a request and is woken when there is a result. Only to a
// server with the host key that a person has accepted is the password told (dial.go): Redfish, which could vouch for
// the key, has no property for it (DSP0268, ManagerNetworkProtocol), and whoever answers first may be anybody.
package bmcreset

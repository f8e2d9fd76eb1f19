// Package bmcssh connects to the SSH server of a BMC and logs in with a password.
//
// Only a server with the host key that a person has accepted is told the password: Redfish, which could vouch for the key, has no property for it
// (DSP0268, ManagerNetworkProtocol), and whoever answers first may be anybody.
package bmcssh

// Package endpoint turns an Endpoint, a MAC address seen at an IP address, into a BMC
// with credentials: the MAC prefix database knows which makes are BMCs and how
// to speak to them. Status says why an Endpoint is no BMC. Of one that becomes a BMC at once
// it says nothing, for the BMC has the name of the Endpoint.
package endpoint

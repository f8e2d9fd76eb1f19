// Package endpoint turns an Endpoint, a MAC address seen at an IP address, into a BMC
// with credentials: the MAC prefix database knows which makes are BMCs and how
// to speak to them.
package endpoint

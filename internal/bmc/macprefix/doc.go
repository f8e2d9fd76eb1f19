// Package macprefix is the database that tells a BMC's make, protocol and
// default credentials from the beginning of its MAC address.
//
// It is a YAML file that operators keep, laid over the prefixes of some makers of servers that ship with Farrier (vendors.txt), without credentials. Prefixes may be of any length (three
// octets name a vendor, more name a product line) and of any spelling; the
// longest one that fits wins.
package macprefix

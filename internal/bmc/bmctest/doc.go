// Package bmctest is a scripted Redfish service for tests of what talks to BMCs:
// resources are JSON in a map, every request is recorded, and a handler can be put
// before any path. It does as it is told; a rack that behaves like real machines
// is internal/sim.
package bmctest

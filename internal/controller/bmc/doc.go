// Package bmc keeps BMC objects true to the BMCs they name: it tells the fleet how to
// reach each, writes what the fleet observes into status, and makes a Server of
// every system that a BMC manages.
package bmc

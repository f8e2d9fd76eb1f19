// Package connection knows which BMC an object of the API speaks of, and
// which objects want to hear of it.
//
// A BMC object and a Server with an inline BMC may name the same hardware; both
// lead to the same key of the fleet, and so to the same actor.
package connection

// Package claim binds ServerClaims: it asks internal/claim which Server a claim gets, takes
// that Server with an optimistic lock, and makes the boot configuration that the Server's
// state machine then boots. It never touches a machine.
package claim

// Package claim chooses the Server that a ServerClaim gets. It is pure: what it is given
// decides, nothing is read or written, and the same input always gives the same answer.
package claim

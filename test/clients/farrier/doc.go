// Package farrier runs `farrier up` with a simulated rack for the tests of clients.
//
// It imports the standard library alone. A module of a client that used Farrier's own packages would get Farrier's
// versions of Kubernetes' libraries, and the client would not be the one that was published.
package farrier

// Package objects reads and judges the objects of Farrier for the tests of clients, with the Go types of the metal-operator
// for which the client was published.
package objects

// Package assignment answers which profile a machine runs that can name itself.
//
// A machine says what it is in labels, a [Subject] (subject.go): its UUID, its MAC address, its
// architecture, whatever its bootstrap script sends. An [Assignment] says which
// labels it is for and which profile those machines get. Both sides spell labels
// in every way people and firmware do, so both are normalised by the same code
// (label.go).
//
// More than one assignment may match. The answer is then a matter of order, never
// of chance (order.go): a machine's own UUID beats its region, however many
// attributes are named beside it, and who came later never changes what a machine
// boots today. The same objects give the same answer in any order and on every
// replica. What nobody can order sensibly is a [Conflict] (conflict.go), said to
// whoever wrote the assignment and decided all the same.
//
// The [Index] finds the candidates (index.go). Its cost depends on how many
// different sets of keys assignments use, not on how many assignments there are.
//
// Nothing here knows Kubernetes, HTTP or what a profile says.
package assignment

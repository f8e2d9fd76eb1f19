// Package assignment decides which profile a machine runs that reports labels of itself.
//
// A machine reports labels, a [Subject] (subject.go): its UUID, its MAC address, its
// architecture, whatever its bootstrap script sends. An [Assignment] selects machines by
// labels and names their profile. People and firmware spell labels in many ways, so the
// same code normalises both sides (label.go).
//
// More than one assignment may match. The answer is then a matter of order, never
// of chance (order.go): a machine's own UUID beats its region, however many
// attributes are named beside it, and who came later never changes what a machine
// boots today. The same objects give the same answer in any order and on every
// replica. What has no sensible order is a [Conflict] (conflict.go): it is decided all the same,
// and reported to the author of the assignment, as are machines that another assignment decides
// for certain, an [Override] (overridden.go). affected.go finds whom to report to.
//
// The [Index] finds the candidates (index.go). Its cost depends on how many
// different sets of keys assignments use, not on how many assignments there are.
//
// Nothing here knows Kubernetes, HTTP or what a profile says.
package assignment

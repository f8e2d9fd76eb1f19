// Package timeline puts together what is known of the life of one server, in order of time: what it was ordered to boot, what its
// machine asked the boot server for and was given, what its probe reported, and what the conditions, events and records of the objects
// around it say.
//
// Read gathers, from the Kubernetes API and the operator address; Timeline prints.
package timeline

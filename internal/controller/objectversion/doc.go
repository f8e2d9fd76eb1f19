// Package objectversion says how new what was made of several objects is.
//
// All objects of a Kubernetes API count their versions together (KEP-5504: resource versions are numbers, and can be compared).
package objectversion

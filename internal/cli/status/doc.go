// Package status is `farrier status`: what is known of all servers, in one picture. It reads objects alone, so it tells the same on any
// Kubernetes API.
//
//	activity.go  what a server does now, since when, and what is wrong with it
//	fleet.go     the servers with what they do, BMCs that fail and claims that wait by cause, unknown machines
//	gather.go    reads the objects once
//	watch.go     looks again and again, and tells what has changed
//	draw.go      the picture, for a terminal or for a file
package status

// Package demo is `farrier demo`: it runs a whole system with a simulated rack in this process, on loopback only, through one
// life of each server, and shows it.
//
//	options.go   the options, and the timings that follow from the size of the rack
//	lab.go       the system, its data directory, its log, and what --break breaks
//	run.go       the run: picture, scenario, result
//
// Package scenario has the steps, package show prints them; neither knows how a system starts.
package demo

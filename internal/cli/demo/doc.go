// Package demo is `farrier demo`: a whole system with a simulated rack, in this process and on loopback alone, that
// does its main job once and shows it.
//
//	options.go   what can be asked for, and what follows from it: timings for a rack of that size
//	lab.go       the system, its data directory, its log, and what --break breaks
//	run.go       the run: picture, scenario, result
//
// What is done is in package scenario, what is seen in package show; neither knows how a system is started.
package demo

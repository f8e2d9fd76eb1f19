// Package faults breaks BMCs. A rack of fifty simulated BMCs of six vendors is looked after by the
// controllers of the product, over a real Kubernetes API; then every fault that the rack knows strikes, each at a BMC of its own: first
// ten at a time, then all of them, so that every two of them are there together.
//
// What is held to, of each fault (troubles_test.go lists them, power_test.go those of power):
//
//   - the BMCs that are well are observed on their schedule, counted at the simulator;
//   - the one that is not has a condition that names the cause, so that whoever reads it knows what to do;
//   - when the fault is over the next attempt succeeds: recovery within one step of the back-off.
//
// All of it runs with one password, which is changed, refused, lost and found in the end
// (credentials_test.go), and is then searched for in everything that anybody can see (secrecy_test.go).
package faults

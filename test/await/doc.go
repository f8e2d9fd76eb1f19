// Package await lets a test wait for what happens in other goroutines and processes. How long that takes is no matter: a test that waits here
// says what it waits for and gives up only when it would wait for ever, so that a busy machine fails no test.
//
// A test that can be told of an event waits for the event (Receive). One that can only look, because what it waits for happens in another process
// or at a place that tells nobody, looks again and again (Until). A test of how long something takes has a clock of its own, or runs in a bubble of
// testing/synctest.
package await

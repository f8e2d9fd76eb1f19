// Package overview is what is known of all servers, in one picture: which states they are in, what each does or what is wrong with it, which BMCs
// fail, which claims wait, and why. It reads objects alone, so it tells the same on any Kubernetes API. What is wrong is the diagnosis' to say: a
// server has the sentence here that `farrier why` begins with.
//
//	activity.go  what a server does now, and since when
//	fleet.go     the servers with what they do, BMCs that fail and claims that wait by cause, unknown machines
//	gather.go    reads the objects once
//	follow.go    keeps them as they are, by watches
package overview

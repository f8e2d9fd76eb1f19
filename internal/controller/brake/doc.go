// Package brake bounds what an object costs that comes no further: ten writes and ten requests to its BMC a minute, after a burst
// that no object needs which does come further.
//
// Every object has an account (account.go) of what controllers wrote to it, whoever of them, and of what its BMC was asked on its account. Progress
// empties it: a state that the object was not in lately (stage.go), which is made of its spec, state and conditions, not
// of messages, times and counters. So two controllers that undo each other's work are found too.
//
//   - Client (client.go) is asked before each write of a controller. One too many is not sent: the error says how long to wait, and
//     outcome.Handle waits.
//   - Wait and Spent (requests.go) are the fleet's: an order one too many waits at the BMC's actor.
//   - Reporter (reporter.go) says so, in the condition Stalled, in an event, a line of the log and a metric; and takes the condition away
//     when it is over.
//
// Accounts are in memory, begin with the first write of an object and end some minutes after the last. Nothing is looked at, and
// nothing more is written, for an object that costs little.
package brake

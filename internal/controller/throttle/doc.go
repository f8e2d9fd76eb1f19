// Package throttle limits what an object costs that makes no progress: ten writes and ten requests to its BMC a minute, after a
// burst larger than any object needs that does make progress.
//
// Every object has an account (account.go) that counts what all controllers write to it and what its BMC is asked for it. Progress
// empties the account: a state that the object was not in recently (stage.go). A state consists of spec, state and conditions, not
// of messages, times and counters. So the throttle also finds two controllers that undo each other's work.
//
//   - Client (client.go) asks the throttle before each write of a controller. A write above the limit is not sent: the error says how
//     long to wait, and reconcileerror.Handle waits.
//   - Wait and Spent (requests.go) serve the fleet: a command above the limit waits at the BMC's actor.
//   - Reporter (reporter.go) reports a throttled object by the condition Stalled, an event, a log line and a metric, and removes the
//     condition when it is over.
//
// Accounts are in memory. They begin with the first write of an object and end some minutes after the last. An object that costs
// little is not examined and causes no further writes.
package throttle

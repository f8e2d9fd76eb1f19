// Package rollout decides which machines of a fleet may get a change now, and says of all others why they wait. It is pure: facts in, a
// decision out. Nothing is remembered between two decisions; what has begun, ended or failed is among the facts.
//
//	policy.go    Policy: budgets, waves, windows, limits of failures
//	amount.go    Amount: so many machines, or so many percent
//	window.go    maintenance windows: a cron schedule, a duration, a time zone
//	facts.go     Machine, Item: what is known
//	budget.go    what is unavailable, in the fleet and in each zone and rack
//	waves.go     how far the change has come, and whether the next wave may begin
//	decide.go    Decide
//
// An item is one change of one target: of a Server, or of a BMC with all machines behind it. It begins when somebody lets it, and may then fail.
// So the decision counts every item that has begun and not ended as unavailable, and as one that may still fail:
//
//   - Never are more machines unavailable because of us than a budget allows, less those that are unavailable already.
//   - No wave begins before every item of those before it has ended, and passed the gates of its wave: an item that waits at a gate has begun and not
//     ended. One that fails at a gate keeps the next wave from beginning until a person accepts it, whatever the limit of failures is.
//   - Never can more items fail than the first wave and the limit of failures together, whenever their failures become known.
package rollout

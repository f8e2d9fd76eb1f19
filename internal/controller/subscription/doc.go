// Package subscription keeps a BMC subscribed to the receiver of events (internal/bmcevents), and
// brings what it hears to where it is of use.
//
//	BMC object ──▶ controller.go ──job──▶ fleet ──▶ work.go: what is there? what is missing?
//	                    ▲    │                            │
//	                    │    ▼                            ▼
//	                    │  status.go: links, condition   EventService of the BMC
//	                    │
//	                 memory.go: which job is under way, when to look again
//
//	receiver ──▶ news.go: the actor polls early; a critical event is told on the BMC object
//
// Where a subscription is, is not remembered: it is found again at the BMC by its destination, which only
// this installation can have made. So a wiped status makes no second subscription, and one that was
// left behind by an earlier object, or has an earlier address of the receiver, is removed. What is
// looked at: after the start, when the BMC has been away, and twice a day.
//
// Everything goes through the fleet's queue of the BMC, as a job; no reconcile waits for it.
package subscription

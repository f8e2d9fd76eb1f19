// Package subscription keeps the receiver of events (internal/bmc/bmcevents) subscribed to each BMC, and
// acts on the events.
//
//	BMC object ──▶ controller.go ──job──▶ fleet ──▶ work.go: what is there? what is missing?
//	                    ▲    │                            │
//	                    │    ▼                            ▼
//	                    │  status.go: links, condition   EventService of the BMC
//	                    │
//	                 memory.go: which job is under way, when to look again
//
//	receiver ──▶ events.go: the actor polls soon; a critical event becomes an event on the BMC object
//
// The controller does not remember where a subscription is: it finds it at the BMC by its destination, which only
// this installation can have made. So a wiped status leads to no second subscription, and the controller removes one that
// an earlier object left behind, or that has an earlier address of the receiver. It checks the subscriptions
// after the start, when the BMC has been away, and twice a day.
//
// All requests go through the fleet's queue of the BMC, as a job; no reconcile waits for them.
package subscription

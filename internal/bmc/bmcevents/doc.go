// Package bmcevents receives what BMCs send of their own accord: events, and reports of metrics
// (DMTF DSP0266, "Eventing"). It has a listener of its own and knows no Kubernetes.
//
//	BMC ──POST──▶ handler.go: is the path one of ours? is there room? is it small enough?
//	                  │
//	                  ▼
//	              message.go: Decode, with tolerance for what firmware really sends
//	                  │
//	                  ▼
//	              repeat.go: heard before? ──yes──▶ answered, and that is all
//	                  │
//	                  ├──▶ series.go: Prometheus series of the BMC, bounded in number
//	                  └──▶ Options.Notify: somebody polls the BMC early
//
// A BMC cannot log in at a receiver. What it has is a destination that nobody else knows: a [Paths]
// makes it of the installation's key and the UID of the BMC object, so that nothing is stored, a
// restart changes nothing, and a subscription can be recognised at the BMC by its destination alone. A
// path is verified before anything is looked up; whoever guesses learns nothing, not even which BMCs there are.
//
// Nothing here is needed for a server to be looked after. Events are lost by busy BMCs, by
// networks, and by this receiver when it has enough to do; polling is the floor that stays.
package bmcevents

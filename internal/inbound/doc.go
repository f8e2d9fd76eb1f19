// Package inbound bounds the connections that strangers open to this process, so that nobody can keep others out, or take the
// descriptors that the store, the Kubernetes API and BMCs need.
//
// Derive shares out the descriptors of the process (limits.go). A Budget is what one kind of caller has of them; the listeners
// that it wraps (listener.go) put every new connection to it, under TLS where there is TLS. What it then does (budget.go, held.go) is:
//
//   - An address that has as many connections as one address may have loses the one of them that has waited longest for a
//     request. If a request is under way on all of them, the new one is closed.
//   - When many connections wait, or the budget is nearly used up, the address that has most of them loses the one that has
//     waited longest. Who has one connection loses it last.
//   - When the budget is used up and none waits, who has most makes room for who has fewer.
//
// An address of IPv6 is its /64 prefix, all of which is one host's to choose from (RFC 4291 §2.5.4).
//
// A connection waits until a handler has been called on it. Nothing, half a TLS handshake, a header that comes one byte at a
// time and the pause between two requests are all the same: nobody is being answered. Servers say when that changes, through
// ConnContext and Handler (serve.go).
//
// Where connections begin with a TLS handshake (pace.go), those that come too fast from one address wait for their turn, or are
// closed: a handshake costs milliseconds of a processor before anybody has said who he is.
//
// An Accept that fails is tried again until the listener is closed: what a stranger can bring about ends no server.
package inbound

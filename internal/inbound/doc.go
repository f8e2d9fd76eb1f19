// Package inbound bounds the connections that strangers open to this process, so that nobody can keep others out, or take the
// descriptors that the store, the Kubernetes API and BMCs need.
//
// Derive divides the descriptors of the process (limits.go). A Budget is the share of one kind of caller. The listeners that it
// wraps (listener.go) report every new connection to the Budget, below TLS where there is TLS. The Budget (budget.go, held.go) then
// closes connections by three rules:
//
//   - If an address has reached its limit, the Budget closes the connection of that address that has waited longest for a
//     request. If all of them have a request in flight, it closes the new one.
//   - If many connections wait, or the budget is nearly used up, the Budget closes the connection that has waited longest of the
//     address with the most connections. An address with one connection loses it last.
//   - If the budget is used up and no connection waits, the address with the most connections loses one to an address with fewer.
//
// An IPv6 address counts as its /64 prefix, because one host may choose any address in it (RFC 4291 §2.5.4).
//
// A connection waits until the server calls a handler for it. An idle connection, half a TLS handshake, a header that arrives one
// byte at a time and the pause between two requests all count as waiting. Servers report the change through ConnContext and
// Handler; Serve has them end with their context (serve.go).
//
// Where connections begin with a TLS handshake (pace.go), the package delays or closes connections that come too fast from one
// address: a handshake costs milliseconds of processor time before the caller has identified itself.
//
// A listener repeats an Accept that fails until somebody closes the listener, so that no stranger can end a server.
package inbound

// Package content fetches parts of profiles from other servers.
//
// Nobody waits for an answer: Resolver.Lookup returns what is known, and subscribers hear when that changes. Answers are refreshed in the
// background (package resolver). While a server is away, or answers with an error, its last good answer stays.
//
// Whoever may write a profile writes the URL, and this process may reach more than they can. So requests go only to hosts that the operator
// named, no redirect is followed, and the address that a name resolves to must not be this host or its link, unless exactly that was named
// (hosts.go).
package content

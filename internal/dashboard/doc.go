// Package dashboard serves the pages for browsers at the operator address, under /dashboard/. What the pages say is package page's.
//
// Whoever looks has signed in with a token of Kubernetes, a client certificate, or a link that `farrier dashboard` prints. Farrier does nothing
// for them with rights of its own: it asks the Kubernetes API about each read, remembers the answer for seconds, and then reads its cache
// (docs/dev/decisions/020); what they change it sends with their token, or as them (impersonation), so that admission and audit see the person.
//
//	dashboard.go  routes, headers, failures
//	session.go    sessions, links, tokens of forms; signin.go how they begin and end
//	rights.go     reads with the rights of a session
//	act.go        changes, by the orders of package verb
//	live.go       pages that change while somebody looks: one watcher for all, one stream a page
//	files.go      scripts and styles; assets/ has those of others
package dashboard

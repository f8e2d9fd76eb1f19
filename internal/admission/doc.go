// Package admission decides what may enter the API, where that takes more than the object itself: rules that see other objects, that parse
// what a schema cannot, or that repair. Whatever CEL can say is said in the CRDs and not again here.
//
// There is one implementation and there are two shells around it: package plugin runs inside the embedded API server, package webhook answers
// the API server of a cluster. Both hand a Request in and carry a Verdict out; package admissiontest holds both, and the rules alone, to one
// table.
//
// Reading order:
//
//	request.go       Request, Verdict: what a shell hands in and gets back
//	rules.go         Rules: which rules there are for which kind, and how they are run
//	check.go         what a rule has to work with
//	others.go        how a rule sees other objects: memory first, and a read of the API where that says something is wrong
//	recent.go        what was admitted a moment ago and the index may not know yet
//	names.go         names that no object can have, in any kind
//	endpoint.go, server.go, claim.go, bmc.go, maintenance.go, bootconfig.go, annotations.go,
//	ipxeprofile.go, ipxeassignment.go
//	                 the rules, a file a subject
//	overlap.go       Assignments: which of them select the same machines, kept up with a cache
//	labelkeys.go     the repair of label keys that Kubernetes does not allow, with managedkeys.go for who owns them
//
// # Adding a rule
//
// A rule is a function of (context, *check, the object now, the object before). It refuses with a field.Error or adds a warning. It is entered
// for its kind in the table of rules.go; a kind that is new there has to be named in config/webhook too, which a test says. The rules for
// boot configs are those of every row of package bootmethod. A case goes into the table of admissiontest, which runs it three times.
//
// # What every rule keeps to
//
// An update is refused only for what it changes, and a deletion never: of that people are only told what it leads to. What was stored before a rule existed can still be labelled, reconciled and deleted, and an
// object that is being deleted is not looked at.
//
// Rules are for people: they say at once, at the right field, what controllers would say later in a condition. Controllers do not rely on them,
// as two requests at the same moment can pass a rule that sees other objects, and a webhook can be away.
package admission

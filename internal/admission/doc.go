// Package admission decides which objects the API accepts, where CEL in the CRDs cannot: its rules read other objects, parse what a schema
// cannot, or repair.
//
// There is one implementation with two shells: package plugin runs inside the embedded API server, package webhook answers the API server of
// a cluster. Each passes a Request in and a Verdict out. Package admissiontest runs one table of cases against both, and against the rules
// alone.
//
// Reading order:
//
//	request.go       Request, Verdict: what a shell hands in and gets back
//	rules.go         Rules: which rules there are for which kind, and how they are run
//	check.go         what a rule has to work with
//	others.go        how a rule sees other objects: in memory first, then by a read of the API before a refusal
//	recent.go        objects that were admitted a moment ago, before the index shows them
//	names.go         names that no object can have, in any kind
//	endpoint.go, server.go, claim.go, bmc.go, maintenance.go, sets.go, version.go, bootconfig.go, annotations.go,
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
// A rule refuses an update only for what the update changes, and never refuses a deletion: it only warns of the consequences. So an object
// that is older than a rule can still be labelled, reconciled and deleted. Rules ignore objects that are being deleted.
//
// Rules are for people: they say at once, at the right field, what controllers would say later in a condition. Controllers do not rely on
// rules, because two simultaneous requests can pass a rule that reads other objects, and a webhook can be away.
package admission

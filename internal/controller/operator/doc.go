// Package operator answers people and their programs, on an address of its own that machines do not get:
//
//	GET    /systems/{uuid}  returns the stored report of a machine's probe
//	DELETE /delete/{uuid}   deletes the report, so that Farrier inspects the machine again
//	GET    /boots/{uuid}    returns the requests of a machine's newest boots, and the answers
//	GET    /logbook/{name}  returns what was done to a machine and seen of it, by the name of its Server or its UUID
//	GET    /console/{name}  is the serial console of a Server, by WebSocket
//	GET    /unknown         lists the machines that asked for a boot and got nothing
//	GET    /explain?label=… lists the assignments that match a machine, in their order, and why
//
// A caller authenticates as at the Kubernetes API: by a client certificate of the authority that the API trusts, or by a bearer token that
// a TokenReview accepts. A ClusterRole has to allow the verb on that path (nonResourceURLs), as for metrics; for a console,
// get or create on the subresource servers/console. So Farrier has no accounts and
// passwords of its own.
//
// A ConfigMap in the manager's namespace (published.go) contains the address and the authority of its certificate, so that a Client needs
// only access to the Kubernetes API.
package operator

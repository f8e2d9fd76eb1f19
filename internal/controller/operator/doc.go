// Package operator answers people and their programs, on an address of its own that no machine is given:
//
//	GET    /systems/{uuid}  the report of a machine's probe, as it was stored
//	DELETE /delete/{uuid}   have it looked at again: the report is deleted
//	GET    /boots/{uuid}    what its newest boots asked for, and were given
//	GET    /unknown         which machines asked what to boot, and there was nothing for them
//	GET    /explain?label=… which assignments a machine has that names itself, in their order, and why
//
// Whoever asks proves itself as at the Kubernetes API, by a client certificate of the authority that the API trusts or by a bearer token
// that a TokenReview knows, and must be allowed the verb on that path: a rule of a ClusterRole with nonResourceURLs, as for metrics. So there
// are no accounts and no passwords of ours.
//
// Where the address is, and by which authority its certificate is known, stands in a ConfigMap of the manager's namespace (published.go),
// so that Client needs nothing but access to the Kubernetes API.
package operator

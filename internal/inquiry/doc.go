// Package inquiry gathers the facts about a server, a claim, a BMC or a machine that a diagnosis is made of: objects from a Kubernetes API, and what
// the operator address knows of requests, unknown machines and the logbook.
package inquiry

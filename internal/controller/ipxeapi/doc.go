// Package ipxeapi compiles Profiles and Assignments into the view that boot servers answer
// machines from which name themselves.
//
// Two reconcilers, one view. [Profiles] gathers what a profile is made of: its own text
// (profile.go), content of Secrets and ConfigMaps that grant it (reference.go), answers of
// webhooks (webhook.go). [Assignments] finds the profile of an assignment, and says what else
// wants the same machines (assignment.go, decide.go). Neither waits for the other: an
// assignment whose profile is not served is kept in the view as broken, so that its machines
// wait and are never given what was meant for others.
//
// The view is synchronised once everything that existed at the start has been looked at
// (initial.go). Which object depends on which is remembered from one look to the next
// (dependents.go).
package ipxeapi

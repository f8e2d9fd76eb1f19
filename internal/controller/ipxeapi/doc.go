// Package ipxeapi compiles Profiles and Assignments into the view from which boot servers answer
// machines that report labels.
//
// Two reconcilers share one view. [Profiles] gathers the parts of a profile: its own text
// (profile.go), content of Secrets and ConfigMaps that allow it (reference.go), answers of
// webhooks (webhook.go). [Assignments] finds the profile of an assignment, and reports which other
// assignments select the same machines (assignment.go, decide.go). Neither waits for the other: the
// view keeps an assignment without a usable profile as broken, so that its machines
// wait and never get what is for others.
//
// The view is synced once every object of the start is compiled (initial.go). dependents.go holds which
// object depends on which between two reconciles.
package ipxeapi

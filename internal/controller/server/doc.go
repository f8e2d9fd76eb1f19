// Package server is the life of a Server: a state machine whose decisions are
// pure and whose actions are thin.
//
// One reconcile reads everything once into a View (view.go), derives from it
// which state the server is in (derive.go), asks that state what to do
// (initial.go, discovery.go, available.go, … a file each) and gets a Plan
// (plan.go), which act.go carries out: facts that must survive are written
// first, a command to the BMC is only submitted when the fact that orders it
// has been read back, and status is written last.
//
// Status is a report. Nothing here reads it to decide: a wiped status, a restart
// or another leader derives the same state and does nothing to a running machine.
package server

// Package leadership holds whether this process is the one that acts.
//
// A [Leadership] (leadership.go) is the same for the life of a process, in which terms begin and end. Whoever depends on them asks Leads, or
// follows Changed.
//
// Controllers that keep the views of boot servers run in every replica, and write only during a term: they are made with the client of
// client.go, which refuses a write at any other time. The refusal is a reconcileerror.Waiting, so that a reconcile ends well. When a term
// begins, these controllers look at all their objects again, and write what was refused.
package leadership

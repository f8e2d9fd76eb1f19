// Package bmcsecret decides which of a make's default credentials a BMC is tried with, and when.
//
// Vendors ship more than one, and accounts lock. So the Trial that a BMCSecret carries in an annotation
// is written before each attempt (the first, when the BMCSecret is made): what was attempted is known after a restart too, and never more often
// than the limit allows. That a BMC takes what it was tried with is written in the Trial too, or by the BMC object with what else it
// learns of its BMC then. Credentials that somebody changed are not a trial's any longer.
package bmcsecret

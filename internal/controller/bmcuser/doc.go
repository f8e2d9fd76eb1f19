// Package bmcuser keeps accounts at BMCs as BMCUsers ask for them: it makes each account, gives it a password, replaces the password
// when that is due, and removes the account with its object.
//
// One reconcile reads the object, its BMC, its secrets, and what the fleet knows into a view (gather.go), decides (decide.go, pure),
// acts (act.go, rotate.go), and writes status (status.go). No worker waits for a BMC. Whatever is wrong with an account, that it does not
// exist yet included, is mended in one way: by a rotation, whose engine is package rotation.
//
//	a name for the next BMCSecret is written down ──▶ the BMC is asked what it takes ──▶ the BMCSecret is made, immutable
//	    ──▶ the account is made, or gets the password ──▶ Farrier logs in with it
//	    ──▶ the BMCSecret becomes the effective one ──▶ the one before it is deleted
//
// How far that has come is an annotation of the object (progress.go), for status is a report. Every step can be done again: another
// account's password can be set twice. The exclusive lock keeps others off the BMC meanwhile.
package bmcuser

// Package rotation replaces the password of an account at a BMC so that, whatever ends in between, nobody is locked out and the next
// process goes on by itself.
//
//   - Rotation.Decide (rotation.go) says what to do next; it is pure. Its steps are in this order:
//
//     Measure ──▶ Store ──▶ Set ──▶ Promote ──▶ Done
//
//     The BMC is asked what passwords it takes; the new one is written down; the BMC is told, and logged in to with it; it becomes
//     the password. So at every moment the BMC has one of two passwords, and both are stored.
//
//   - Work (work.go) is what a job of the fleet does at the BMC for Measure and for Set.
//
//   - Tries (tries.go) are the logins that processes note before they make them, while it is not known which of the two the BMC has. BMCs lock
//     accounts after a few wrong passwords in a row, however many processes told them one each.
//
//   - Memory (memory.go) is what this process knows of rotations under way. It is lost with the process, and nothing is lost with it.
//
// Two controllers carry the steps out, each with its own place for passwords: package bmc for the account that Farrier logs in with,
// package bmcuser for other accounts. The difference is View.Separate: of another account the operator's login is no
// witness, and its password can be set again at any time.
package rotation

// Package takeover changes an API over from metal-operator to Farrier.
//
// [Test] builds what metal-operator leaves when it is stopped (left.go), with its own definitions and Go types: a server that runs for a claim,
// one in maintenance, and a free one. Then it installs the definitions of Farrier over them, starts farrier-manager, and judges the objects and
// what the BMCs were told (bmc.go), goes back to metal-operator's definitions and returns, and ends maintenance and claim, step by step as
// docs/migration.md has it.
package takeover

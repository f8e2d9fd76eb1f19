// Package attacks tries on the built product what docs/security.md says that Farrier withstands: whoever stands on the provisioning
// network, a tenant with a namespace of his own, a hostile BMC, registry or webhook, and a user of the same host.
//
// Every test is an attack. It fails when the attack succeeds, and when the machine that the attack is about no longer boots.
//
// # Adding an attack
//
// Write the test in the file of its attacker, start the product with start or, where machines or a registry have to outlive it or to
// misbehave, in a lab. Add a row to docs/security.md that names it; test/documents reads that page.
package attacks

// Package diagnosis says why a server, a claim or a machine is not where somebody expects it: the cause in one sentence, the next step to take,
// and the evidence. It is pure: Explain turns facts into an Answer, and whoever asks gathers the facts. So the terminal and every other place show
// the same sentence.
//
// A cause is found by the typed reason of a condition (causes.go), or by the first step of a boot that did not happen (boot.go). No message is read
// to decide; messages are quoted as evidence.
//
// Adding a reason: give it a row in the table of its kind, or name it in normal if it means no trouble. A test compares the table with the reasons
// that the API and the controllers define, and another writes docs/troubleshooting.md from it. A reason that is never the cause has its entry in others (others.go).
package diagnosis

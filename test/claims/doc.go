// Package claims has the test of many claims against a real API: managers end in the middle of a write, and users delete claims at the worst moment.
// It is raced. The same is tested step by step, and with more variety, in internal/controller/claim.
package claims

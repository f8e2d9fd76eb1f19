// Package fault says what goes wrong at which simulated BMC, and when.
//
// A [Spec] is one fault as people write it, in a YAML file ([Load]) or in JSON:
// a [Kind], the BMCs it strikes (named, or a share of all of them), and
// optionally which requests, with which value, after how long and for how long.
// [Kinds] lists what there is.
//
// A [Table] holds the faults of one rack while it runs. It answers, for one BMC,
// one kind and one request, whether the fault strikes now; where there are no
// faults, that costs one atomic load. What a struck BMC then does is the
// rack's business, not this package's.
//
// Chance is seeded: the same specs set in the same order on a rack with the
// same seed strike the same BMCs and the same requests.
package fault

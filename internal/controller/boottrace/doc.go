// Package boottrace follows boot attempts from their order to the last word of the machine: how long each step takes, as metrics, and one trace of
// OpenTelemetry for each attempt.
//
// A step is reached once in an attempt. It begins when the newest earlier step was reached, so the steps of a boot show where its time went.
// Controllers tell of the steps of power when they have written them; the boot server tells of its answers; nothing is asked.
//
// The ID of a trace, and those of its spans, follow from the ID of the attempt alone. So all processes agree on them, before and after a restart,
// and nobody stores them. They are digests: whoever reads a trace learns nothing that boot tokens are derived from.
//
//   - ids.go: the IDs. step.go: the steps. tracker.go: which of them each attempt has reached. metrics.go: durations.
package boottrace

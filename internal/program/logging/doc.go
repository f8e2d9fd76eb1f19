// Package logging writes log lines that a person reads at a glance, and holds the rules for what is logged.
//
// A line has a constant message and keys:
//
//	14:03:07 claim has a server controller=serverclaim claim=default/web server=node-7
//
// Messages and keys:
//
//   - The message is a constant that begins in lower case, unless it begins with a proper noun such as BMC, and has no full stop.
//     It says what happened: "claim has a server", not "binding". Everything that varies stands in keys.
//   - Keys come from one vocabulary, the list in internal/architecture/logs_test.go, which fails for any other. The most
//     important: error (an error, as a value, never err.Error()), reason (machine-readable, as in a condition), message (a
//     sentence for people), server, bmc, claim, image, attempt.
//   - Names of flags stand in the key flag, so that the operator knows what to change.
//   - A line that strangers cause comes from a ratelimit.Lines, so that they cannot fill the log. Its key suppressed counts the lines like it
//     that were left out.
//   - A line never holds a secret. bmc.Secret prints as [redacted].
//
// Levels:
//
//   - Error: Farrier could not do its work and cannot report it in another way, such as a condition. A person has to look.
//   - Info at level 0: what happened, once for each change that an operator cares about: a server changed its state, a claim has
//     a server, a BMC cannot be used. Also an unsafe configuration, once at the start. Nothing that repeats while nothing
//     changes.
//   - Info at level 1 (-v 1): why Farrier did something or did not: a claim waits, a request to a BMC failed and is repeated, a
//     reconcile waits for an object.
//   - Info at level 2 (-v 2): what libraries log about themselves, such as client-go's "starting event source"
//     (system.LowerVerbosity), and what the probes of simulated machines log.
//
// A reconciler logs with log.FromContext(ctx), which adds the controller and the object, the latter under its key of the
// vocabulary. So a reconciler has no logger of its own; internal/architecture fails for one that has.
package logging

// Package claim binds ServerClaims. It never touches a machine.
//
// Which claim gets which Server is decided in memory, by internal/allocator, for all claims that wait at a time:
//
//   - watch.go tells the pool of every change of a Server, and wakes the claims that it concerns.
//   - matcher.go is the one worker that has the pool match; it is woken by free servers and new claims, waits a moment so
//     that what comes together is decided together, and wakes the claims that were given something.
//   - controller.go reconciles one claim: what it has is kept up, what it was given is taken, and otherwise it waits and says why.
//     Several claims are reconciled at the same time, and so several servers are taken at the same time.
//   - take.go takes a Server, in one patch with an optimistic lock. Losing that race gives the Server back to the pool.
//     Then come the claim (its finalizer and the Server's name, in one), its boot configuration, and its status. If the process ends in
//     between, the mark on the Server tells whose it is; a claim that is deleted before it has its finalizer leaves a Server that is cleaned.
//   - taken.go remembers what was taken until the cache has heard of it; written.go, which version of a claim was written last.
//   - boot.go makes the boot configuration that the Server's state machine then boots.
//   - report.go writes the claim's status: the first explanation at once, later counts once a minute.
//   - tell.go makes events and log lines of what is new in that status.
//   - machine.go makes events of the claim of what is done about its machine's power.
//   - operation.go removes operations that are asked for by annotation; a claim has none.
package claim

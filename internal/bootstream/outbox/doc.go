// Package outbox keeps what a boot server has to tell a manager, until a manager has it: deliveries, alarms, sightings, bindings, and
// machines that asked early.
//
// What is like something that waits already is added to it: deliveries of one entry, attempt, machine, kind, file, address and status become one
// with a first and a last time, bytes and a count; of sightings the last of a host counts, of bindings the last of an entry. Each kind
// has a limit. Beyond it the oldest of that kind is dropped, and counted. Answers that were refused or went to strangers have a limit of their own:
// whoever makes many of them does not push out what becomes a condition.
//
// Adding stands on the way of every answer. It takes a lock that nobody holds for longer than it takes to copy some messages, and does no I/O.
//
// # Once, and not twice
//
// Next makes a request of what waits, numbers it, and returns the same one until Done. What is in a request does not change; what is like it
// and comes later waits for the next one. A manager notes the number of each instance that it has taken (bootstream.Seen). So an answer that
// was lost makes a repetition, which the manager ignores.
//
// On disk (package sealed) the outbox is written every second, and a request before Next returns it:
//
//   - What was added in the last second is lost if the process is killed, unless it is in a request already.
//   - A request is on disk, in one frame with what it takes from the rest, before a manager can see it. After a crash the same request, of
//     the same instance and number, is next; so the manager ignores it if it has it. What is in the request is not in the rest.
//   - A request that is done and still on disk is repeated after a crash, and ignored in the same way.
//   - A process has an instance of its own, at random. It never gives a number to something else than before, not even from an older copy of the
//     file or after a disk that has failed. So nothing is ignored that a manager does not have.
//
// Two things can make a second count: a manager that has forgotten its numbers, because it has started again between a request and its
// repetition, and a disk that fails: what was on it and could not be removed when it was sent is sent again after a crash.
//
// A disk that is full or broken never stops answers: all goes on in memory, Problems says so, and everything is written anew when that is
// possible.
package outbox

// Package claim binds ServerClaims to Servers. It never touches a machine.
//
// Which claim gets which Server is decided in memory, by internal/controller/allocator, for all claims that wait at a time. A claim goes one way through
// these files:
//
//   - watch.go shows the allocator every change of a Server, and queues the claims that it concerns.
//   - matcher.go is the one worker that has the allocator match. Free Servers and new claims trigger it; it waits a moment, to decide
//     together on what comes together, and queues the claims that a Server is assumed for.
//   - controller.go reconciles one claim, several at the same time: it finds the claim's Server, or binds the one that is assumed for it;
//     then it writes what follows from that, or why the claim has none.
//   - server.go finds the Server that a claim has, and unbinds one too many.
//   - bind.go binds a Server, in one patch with an optimistic lock, and tells the allocator once what came of it: bound, or a conflict.
//     Then come the claim (its finalizer and the Server's name, in one), its boot configuration, and its status. If the process ends in
//     between, the mark on the Server tells whose it is; a claim that is deleted before it has its finalizer leaves a Server that is cleaned.
//   - boot.go writes the boot configuration that the Server's state machine then boots.
//   - report.go writes the claim's status: the first explanation at once, later counts once a minute.
//   - events.go makes events and log lines of what is new in that status.
//   - powerevents.go makes events of the claim about the power of its machine, bootevents.go about what that fetched and reported.
//   - operation.go removes operations that an annotation asks for; a claim has none.
//
// The controller needs a client that never reads back an older version than it wrote (internal/controller/readcache). Where that no longer
// keeps a write, the optimistic lock refuses the next one, and the allocator's assumption keeps a claim from a second Server.
package claim

// Package fleet looks after all BMCs: it observes them, and it performs the
// commands that controllers submit. Nothing here knows Kubernetes.
//
// Every BMC has an actor: a goroutine that owns the connection, the session and
// the schedule of that BMC (actor.go). It sends one request at a time, so a BMC
// that hangs delays itself only. What it does in one turn is a function of its
// state and the clock, actor.step, which tests drive without goroutines:
//
//	mailbox ──▶ step: what is due? ──requests──▶ BMC
//	               │        │
//	               │        └──▶ Observation, published whole ──▶ subscribers
//	               └──▶ when to come back
//
// What is due (poll.go, schedule.go):
//
//   - systems, one GET each, every poll interval: the whole cost of an idle BMC;
//   - the list of systems and the manager at first, every two hours and on
//     Refresh; inventory at first, once a day, on Refresh and when a system is
//     not what it was (other serial number, memory or BIOS);
//   - commands (power.go). Each begins with a fresh GET, acts, and polls faster until the
//     power state is seen that it is about. What to do next is decided by a pure function,
//     command.decide;
//   - other commands and jobs (advance.go, job.go): one request for a LED or a boot order, or a
//     function of its owner's for accounts, BIOS settings, updates, subscriptions;
//   - nothing at all during back-off, which a failure starts and a success ends,
//     and after a refused password, until it changes or ten minutes pass.
//
// First looks, dozens of requests each, are let in by a door (door.go), so many at a time; one whose BMC does not
// answer soon keeps nobody waiting. After a turn that nothing follows soon, the connection is closed and the session kept.
//
// Whoever needs a BMC for itself, to change its password or its firmware, raises a fence around it
// (fence.go): what others submit waits and says so. An event of a BMC has it polled early
// (Fleet.Poke); polling is the floor that stays when events are lost.
//
// An [Observation] is immutable. It says what the BMC said, when, and how the newest command
// of each system stands. Nothing is remembered over a restart: at first everything is
// Unknown (Sequence 0), and Unknown allows no action.
package fleet

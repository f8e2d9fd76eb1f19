// Package fleet observes all BMCs and runs the commands that controllers submit. It does not know Kubernetes.
//
// Every BMC has an actor: a goroutine that owns the connection, the session and
// the schedule of that BMC (actor.go). It sends one request at a time, so a BMC
// that hangs delays only itself. One turn, actor.step, is a function of the actor's
// state and the clock; tests call it without goroutines:
//
//	mailbox ──▶ step: what is due? ──requests──▶ BMC
//	               │        │
//	               │        └──▶ Observation, published whole ──▶ subscribers
//	               └──▶ when to run again
//
// What is due (poll.go, schedule.go):
//
//   - systems, one GET each, every poll interval: the whole cost of an idle BMC;
//   - the list of systems and the manager at first, every two hours and on
//     Refresh; inventory at first, once a day, on Refresh and when a system
//     has changed (serial number, memory or BIOS);
//   - commands (power.go). Each begins with a fresh GET, acts, and polls faster until the
//     BMC reports the power state. A pure function, command.decide, decides the next
//     step;
//   - other commands and jobs (advance.go, job.go): one request for a LED or a boot order, or a
//     function of its owner for accounts, BIOS settings, updates, subscriptions;
//   - no request during back-off, which a failure starts and a success ends,
//     and none after a refused password until it changes or ten minutes pass.
//
// The first contact with a BMC takes dozens of requests, so a limiter (firstcontact.go) admits a limited number at once; a BMC
// that answers slowly does not delay the others. Where all are slow and this process has time, it admits more.
// While this process has more to do than it can, turns are limited as well (turns.go), except those with commands. When nothing is due soon, the actor closes the connection and keeps the session.
//
// A controller that needs a BMC for itself, to change its password or its firmware, takes the exclusive lock
// (lock.go): the commands of others wait, and their status says so. An event from a BMC makes the actor poll soon
// (Fleet.PollSoon); regular polls go on, so a lost event costs a poll interval at most.
//
// An [Observation] is immutable. It holds what the BMC reported and when, and the status of the newest command
// of each system. Nothing survives a restart: at first everything is Unknown (Sequence 0), and Unknown allows no action.
package fleet

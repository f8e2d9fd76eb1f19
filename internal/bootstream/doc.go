// Package bootstream carries the boot view from managers to boot servers, which have no Kubernetes credentials, and brings back what
// machines were given.
//
//	manager     bootview, profiles ──▶ Journal ──▶ Server ═══ gRPC, mutual TLS ═══▶ Follower ──▶ Applier     boot server
//	            controllers ◀───────── Receiver ◀────────────────────────────────── Outbox ◀── deliveries
//
// A Journal holds the newest record of every key in the order of their changes. A snapshot and what has changed since a position are
// therefore one walk, a writer never waits for a follower, and a change costs the same whatever the number of machines. A follower that
// has fallen behind skips what has changed again since; only when deletions that it has not seen are forgotten, it is sent a snapshot.
//
// docs/dev/bootstream.md has the protocol and what it promises.
package bootstream

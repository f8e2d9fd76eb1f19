// Package move moves everything that Farrier holds from one Kubernetes API to another.
//
// Reading order:
//
//	move.go      Run: the steps, in their order
//	kinds.go     which kinds there are, at both sides
//	rights.go    what may be done there
//	filters.go   whether other installations have objects there
//	pause.go     nobody acts at either side, by the Leases that managers take turns with
//	read.go      what is at the source, with the Secrets and ConfigMaps that belong to it
//	refs.go      which Secrets and ConfigMaps an object names
//	order.go     owners before what they own
//	rewrite.go   what an object has to be at the target, where it gets another UID
//	compare.go   whether it is that
//	copy.go      makes it that
//	busy.go      which machines are about to boot
//	remove.go    takes it from the source
//	abort.go     takes the copies back, as long as nothing has been deleted
//
// # What makes it safe to end at any moment
//
// Nothing is remembered in this process. Each copy carries the UID of its original in the annotation [AnnotationMovedFrom] until the move is over; so whoever
// runs it again knows what has been copied. The Lease of the source says when everything has been copied and verified ([AnnotationPhase]): only then is
// anything deleted there. Both sides stay paused until the last original is gone. Then the target is released; the source stays paused, for whatever a manager
// found there would be a second owner of the same machines.
package move

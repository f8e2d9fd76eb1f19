// Package diskguard keeps etcd alive on a disk that fills up.
//
// etcd ends its process when it cannot write: a log record, a page of its database, a snapshot. So nothing is handed to it that could not be
// written, however fast somebody else takes what is left of the disk:
//
//   - guard.go: below LowMark nothing new is stored. The disk is asked for every write, and not only from time to time.
//   - intercept.go: the last place before etcd, a gRPC interceptor. It bounds what is in flight (InFlight).
//   - reserve.go: the room for what is in flight is taken before: behind the end of the write-ahead log and of the database, and in the two files
//     that etcd's log grows into next. Who fills the disk cannot have it.
//
// Reads, and so everything that answers machines, go on. There is room again at OpenMark, and when the reserve is complete.
package diskguard

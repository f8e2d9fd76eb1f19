// Package peer decides who may speak on the boot stream, at both ends.
//
// Both ends have an Identity: certificate, key and the authorities that they trust, read from three files and read again when they
// change. They speak TLS 1.3 alone. A manager has an Authorizer beside it: a boot server is who its certificate's one DNS name out of
// the Table says, and its site is what the Table says. What a peer says about itself counts for nothing, nor does a common name. A
// boot server asks for one exact DNS name of the manager, whatever address it has dialled.
//
// A certificate that was good once is not good for ever: an Authorizer looks at its open connections again, and closes those whose
// certificate has expired, whose authority is no longer trusted, or whose name has left the Table. So a stream never outlives the
// right to it by more than the interval, and handlers need not ask again after a stream has begun.
//
// What ends a handshake is a Refusal, which has a Reason. docs/boot-servers.md tells operators what to do about each.
//
// The package reads files, and has an injected clock. Package enroll has the exception for certificates that have expired.
package peer

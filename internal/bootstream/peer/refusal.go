package peer

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Reason says why a peer is refused. Its values are those of the label of the metric.
type Reason string

// Reasons, in the order in which they are looked for.
const (
	Plaintext        Reason = "Plaintext"
	OldTLS           Reason = "OldTLS"
	NoCertificate    Reason = "NoCertificate"
	UnknownAuthority Reason = "UnknownAuthority"
	WrongUsage       Reason = "WrongUsage"
	NotYetValid      Reason = "NotYetValid"
	Expired          Reason = "Expired"
	WrongName        Reason = "WrongName"
	WrongKey         Reason = "WrongKey"
	// HandshakeFailed is everything else: a connection that ended, a client that refuses us.
	HandshakeFailed Reason = "HandshakeFailed"
)

// Reasons are all of them.
var Reasons = []Reason{Plaintext, OldTLS, NoCertificate, UnknownAuthority, WrongUsage, NotYetValid, Expired, WrongName, WrongKey, HandshakeFailed}

// Refusal is the error for a peer that may not speak. A handler can return it: it has a gRPC status.
type Refusal struct {
	Reason Reason
	// Names are the DNS names of the peer's certificate, as far as it has shown one.
	Names []string
	Err   error

	// byUs says that we are the client, and refuse a manager.
	byUs bool
}

// Error implements error.
func (r *Refusal) Error() string {
	if len(r.Names) == 0 {
		return fmt.Sprintf("peer refused (%s): %v", r.Reason, r.Err)
	}
	return fmt.Sprintf("peer %s refused (%s): %v", strings.Join(r.Names, ", "), r.Reason, r.Err)
}

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// GRPCStatus is what a manager tells the peer. At a client it says that there is no manager to talk to: nobody has denied anything.
func (r *Refusal) GRPCStatus() *status.Status {
	if r.byUs {
		return status.New(codes.Unavailable, r.Error())
	}
	if r.Reason == WrongName || r.Reason == WrongKey {
		return status.New(codes.PermissionDenied, r.Error())
	}
	return status.New(codes.Unauthenticated, r.Error())
}

// refusalOf gives the error of a handshake its reason. offersTLS13 is what the client's hello said; it counts only after a hello.
func refusalOf(err error, hello, offersTLS13 bool) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok && !hello {
		return &Refusal{Reason: Plaintext, Err: err}
	}
	if hello && !offersTLS13 {
		return &Refusal{Reason: OldTLS, Err: err}
	}
	return &Refusal{Reason: HandshakeFailed, Err: err}
}

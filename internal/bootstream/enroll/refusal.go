package enroll

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Reason says why no certificate is issued. Its values are those of the label of the metric.
type Reason string

// Reasons.
const (
	InvalidRequest Reason = "InvalidRequest"
	InvalidToken   Reason = "InvalidToken"
	TokenExpired   Reason = "TokenExpired"
	TokenUsed      Reason = "TokenUsed"
	// NotTrusted certificates are missing, not of our authority, or not for this.
	NotTrusted Reason = "NotTrusted"
	// NotBound keys are not those of the name.
	NotBound Reason = "NotBound"
	// Unavailable says nothing about the caller: the Registrations cannot be read or written.
	Unavailable Reason = "Unavailable"
)

// Reasons are all of them.
var Reasons = []Reason{InvalidRequest, InvalidToken, TokenExpired, TokenUsed, NotTrusted, NotBound, Unavailable}

// Refusal is the error for a boot server that gets no certificate.
type Refusal struct {
	Reason Reason
	Name   string
	Err    error
}

// Error implements error.
func (r *Refusal) Error() string {
	if r.Name == "" {
		return fmt.Sprintf("no certificate (%s): %v", r.Reason, r.Err)
	}
	return fmt.Sprintf("no certificate for %s (%s): %v", r.Name, r.Reason, r.Err)
}

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// GRPCStatus is what the boot server is told. What is wrong with the store is for the manager's log alone.
func (r *Refusal) GRPCStatus() *status.Status {
	switch r.Reason {
	case InvalidRequest:
		return status.New(codes.InvalidArgument, r.Error())
	case Unavailable:
		return status.New(codes.Unavailable, "the manager cannot issue certificates now")
	case NotBound:
		return status.New(codes.PermissionDenied, r.Error())
	}
	return status.New(codes.Unauthenticated, r.Error())
}

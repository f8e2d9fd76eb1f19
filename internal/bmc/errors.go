package bmc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Kind says what an error means for the caller.
type Kind string

const (
	// KindAuthentication: the BMC refuses the account: a 401, or a login refused in
	// any other way. Repeating it locks accounts.
	KindAuthentication Kind = "Authentication"
	// KindConnection: no connection, or it broke.
	KindConnection Kind = "Connection"
	// KindUntrusted: who answers does not prove that it is the BMC: its certificate is not good, or it
	// does not speak TLS where the BMC does. It was told nothing, and nothing else of it is to be believed.
	KindUntrusted Kind = "Untrusted"
	// KindTimeout: no answer, or no whole answer, before the deadline.
	KindTimeout Kind = "Timeout"
	// KindServer: the BMC cannot now (5xx, 429); RetryAfter may say when.
	KindServer Kind = "Server"
	// KindProtocol: the answer is not Redfish as we know it.
	KindProtocol Kind = "Protocol"
	// KindUnsupported: this BMC has no such function or value.
	KindUnsupported Kind = "Unsupported"
	// KindRejected: the BMC understood and said no (other 4xx), such as 403 where
	// the account may not do this.
	KindRejected Kind = "Rejected"
)

// Error is every error of this package.
type Error struct {
	Kind     Kind
	Endpoint string // Endpoint.Key
	Op       string // "GET /redfish/v1/Systems/1"
	// StatusCode is the HTTP status, zero if there was no answer.
	StatusCode int
	// Handshake: there is no connection because one side refused the TLS handshake of the other.
	Handshake bool
	// Certificate is the fingerprint of the certificate that was refused, as openssl prints it; empty: none was shown. Accepted is the
	// one that was expected; zero: one of an authority was.
	Certificate string
	Accepted    AcceptedCertificate
	// RetryAfter is what the BMC asked for, zero if it did not.
	RetryAfter time.Duration
	// MessageID names the message of the BMC's registry without its prefix and
	// version, such as "PropertyNotWritable".
	MessageID string
	// Message is what went wrong in words. It is stable: the same failure has the
	// same words, so that it can stand in a condition.
	Message string
	Err     error
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Endpoint != "" {
		b.WriteString(e.Endpoint + ": ")
	}
	b.WriteString(e.Op)
	if e.StatusCode != 0 {
		b.WriteString(": " + strconv.Itoa(e.StatusCode) + " " + http.StatusText(e.StatusCode))
	}
	if e.MessageID != "" {
		b.WriteString(": " + e.MessageID)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of an error of this package, "" for any other.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// Unreachable reports whether err tells about the BMC as a whole, so that asking
// it for something else makes no sense now.
func Unreachable(err error) bool {
	if errors.Is(err, ErrImage) {
		return false
	}
	switch KindOf(err) {
	case KindAuthentication, KindConnection, KindUntrusted, KindTimeout:
		return true
	}
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrInterrupted)
}

// transportError classifies what came instead of an answer.
func (c *Client) transportError(op string, err error) *Error {
	e := &Error{Kind: KindConnection, Endpoint: c.endpoint.Key(), Op: op, Message: cause(err), Err: err}
	if untrusted(err) {
		e.Kind = KindUntrusted
		e.Certificate, e.Accepted = shownCertificate(err)
		return e
	}
	_, e.Handshake = errors.AsType[handshakeError](err)
	var timeout interface{ Timeout() bool }
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		e.Kind, e.Message, e.Handshake = KindTimeout, "no answer in time", false
	}
	return e
}

// handshakeError ends a TLS handshake that one side refused: by an alert, or for what the other offered. One that the network broke off is
// none.
type handshakeError struct{ error }

func (e handshakeError) Unwrap() error { return e.error }

// inHandshake marks an error of a handshake as such.
func inHandshake(err error) error {
	_, network := errors.AsType[syscall.Errno](err)
	if network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return err
	}
	return handshakeError{err}
}

// untrusted reports whether a connection failed because of who answered. An alert is no such failure: any BMC that is ill
// sends one.
func untrusted(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, unaccepted := errors.AsType[*certificateError](err)
	_, other := errors.AsType[tls.RecordHeaderError](err)
	return certificate || unaccepted || other
}

// cause tells an error of the network without the addresses and local ports that
// differ each time.
func cause(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return "look up " + dns.Name + ": " + dns.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "connection closed before the answer"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op + ": " + op.Err.Error()
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "certificate has expired or is not yet valid" // Go adds the current time
	}
	return printable(err.Error(), 200)
}

// statusError classifies an answer that is not a success.
func (c *Client) statusError(r call, a answer) *Error {
	e := &Error{Endpoint: c.endpoint.Key(), Op: r.op(), StatusCode: a.status}
	switch {
	case a.status == http.StatusUnauthorized:
		e.Kind = KindAuthentication
	case a.status == http.StatusMethodNotAllowed, a.status == http.StatusNotImplemented:
		e.Kind = KindUnsupported
	case a.status == http.StatusRequestTimeout:
		e.Kind = KindTimeout
	case a.status == http.StatusTooManyRequests, a.status >= 500:
		e.Kind = KindServer
	case a.status < 400:
		e.Kind = KindProtocol
		e.Message = "unexpected status"
		if to := a.header.Get("Location"); to != "" {
			e.Message = "redirects to another address"
		}
	default:
		e.Kind = KindRejected
	}
	e.RetryAfter = retryAfter(a.header.Get("Retry-After"), c.clock.Now())
	if id, message := extendedInfo(a.body); id != "" || message != "" {
		e.MessageID, e.Message = printable(c.redact(id, r.hide), 64), printable(c.redact(message, r.hide), 200)
	}
	if r.hide != "" && e.Kind == KindRejected && refusesPassword(a.body) {
		e.Err = ErrPasswordRules
	}
	return e
}

func (c *Client) protocolError(op, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: KindProtocol, Endpoint: c.endpoint.Key(), Op: op, Message: err.Error(), Err: err}
}

func (c *Client) unsupported(op, format string, args ...any) *Error {
	return &Error{Kind: KindUnsupported, Endpoint: c.endpoint.Key(), Op: op, Message: fmt.Sprintf(format, args...)}
}

// retryAfter reads both forms of RFC 9110 §10.2.3: seconds and a date.
func retryAfter(v string, now time.Time) time.Duration {
	if v == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(strings.TrimSpace(v), 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// redact keeps a BMC that echoes what it was sent from publishing it.
func (c *Client) redact(s string, also Secret) string {
	secrets := []Secret{c.credentials.Password, also}
	if c.session != nil {
		secrets = append(secrets, c.session.token)
	}
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret.Reveal(), redacted)
		}
	}
	return s
}

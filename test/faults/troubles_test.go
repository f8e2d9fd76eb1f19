package faults

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// trouble is a fault, and what is to be read of it.
type trouble struct {
	name string
	kind fault.Kind
	// value of the fault; empty: its default.
	value string
	// noticed is what makes an order or a login that the fault strikes; nil: polls do.
	noticed func(t *testing.T, s *stand, i int)
	// says is what names the cause; empty: the BMC is looked after all the same.
	says statement
	// after is what is said when the fault is over, beside being ready.
	after func(t *testing.T, s *stand, i int)
	// first does what has to be before the fault begins.
	first func(t *testing.T, s *stand, i int)
}

func contains(text, part string) bool { return strings.Contains(text, part) }

// failed is Ready=False.
func failed(reason, mention string) statement {
	return statement{"BMC", metalv1.ConditionReady, metav1.ConditionFalse, reason, mention}
}

// degraded is a BMC that answers.
func degraded(reason, mention string) statement {
	return statement{"BMC", metalv1.ConditionDegraded, metav1.ConditionTrue, reason, mention}
}

// loggedOut ends the sessions of a BMC: its faults of logging in strike.
func loggedOut(_ *testing.T, s *stand, i int) { s.ForgetSessions(i) }

// disconnected ends the connection of a BMC: its faults of connecting strike.
func disconnected(_ *testing.T, s *stand, i int) { s.drop[i].Store(true) }

// lookedThrough has everything read again.
func lookedThrough(_ *testing.T, s *stand, i int) { s.fleet.Refresh(s.key(i)) }

// well is a BMC that has nothing to say.
var well = statement{"BMC", metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected, "The BMC answers"}

// basic is a BMC that is well, and spoken to with its password.
func basic(mention string) statement {
	return statement{"BMC", metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected, mention}
}

// troubles are all faults there are, and the values that make a difference to who reads of them.
var troubles = []trouble{
	{name: "latency", kind: fault.Latency, value: "1h", says: failed(metalv1.ReasonConnectionFailed, "no answer in time. The BMC hangs, is overloaded")},
	{name: "some latency", kind: fault.Latency, value: "2100ms", says: degraded(metalv1.ReasonSlowAnswers, "more than half of the request time-out")},
	{name: "hang", kind: fault.Hang, says: failed(metalv1.ReasonConnectionFailed, "no answer in time. The BMC hangs")},
	{name: "hang in the body", kind: fault.HangBody, says: failed(metalv1.ReasonConnectionFailed, "the answer stopped in the middle. The BMC hangs")},
	{name: "reset", kind: fault.Reset, says: failed(metalv1.ReasonConnectionFailed, "connection reset by peer. Check the BMC's power")},
	{name: "401", kind: fault.Unauthorized, says: failed(metalv1.ReasonAuthenticationFailed, "401 Unauthorized: NoValidSession")},
	{name: "403", kind: fault.Forbidden, says: failed(metalv1.ReasonAuthenticationFailed, "403 Forbidden: InsufficientPrivilege")},
	{name: "429", kind: fault.TooManyRequests, value: "0", says: failed(metalv1.ReasonInternalServerError, "429 Too Many Requests")},
	{name: "500", kind: fault.ServerError, says: failed(metalv1.ReasonInternalServerError, "500 Internal Server Error: InternalError")},
	{name: "503", kind: fault.Unavailable, value: "0", says: failed(metalv1.ReasonInternalServerError, "503 Service Unavailable")},
	{name: "wrong JSON", kind: fault.WrongJSON, says: failed(metalv1.ReasonUnknownError, "not from a working Redfish service")},
	{name: "JSON of wrong types", kind: fault.WrongJSON, value: "types", says: degraded(metalv1.ReasonPowerStateMissing, "reports no known power state")},
	{name: "HTML", kind: fault.WrongJSON, value: "html", says: failed(metalv1.ReasonUnknownError, "not from a working Redfish service")},
	{name: "truncated JSON", kind: fault.TruncatedJSON, says: failed(metalv1.ReasonUnknownError, "not from a working Redfish service")},
	{name: "TLS alert", kind: fault.TLSFailure, noticed: disconnected, says: failed(metalv1.ReasonConnectionFailed, "tls: ")},
	{name: "TLS certificate expired", kind: fault.TLSFailure, value: "expired", noticed: disconnected, says: failed(metalv1.ReasonUntrusted, "certificate has expired")},
	{name: "TLS certificate of another host", kind: fault.TLSFailure, value: "name", noticed: disconnected, says: failed(metalv1.ReasonUntrusted, "certificate")},
	{name: "TLS certificate of an unknown authority", kind: fault.TLSFailure, value: "authority", noticed: disconnected, says: failed(metalv1.ReasonUntrusted, "--bmc-ca-file")},
	{name: "TLS certificate of its own", kind: fault.TLSFailure, value: "self-signed", noticed: disconnected, says: failed(metalv1.ReasonUntrusted, "farrier.dev/certificate=")},
	{name: "session loss", kind: fault.SessionLoss, says: degraded(metalv1.ReasonSessionsLost, "every request needs a login")},
	{name: "session table full", kind: fault.SessionTableFull, noticed: loggedOut, says: failed("", "Others use all sessions of the BMC")},
	{name: "no sessions", kind: fault.NoSessions, noticed: loggedOut, says: basic("offers no sessions"), after: metAnew},
	{name: "no sessions, and 401", kind: fault.NoSessions, value: "401", noticed: metAnew, says: basic("offers no sessions"), after: metAnew},
	{name: "sessions refused", kind: fault.SessionsRefused, noticed: metAnew, says: basic("refuses a session"), after: metAnew},
	{name: "sessions without token", kind: fault.NoToken, noticed: metAnew, says: basic("without a token"), after: metAnew},
	{name: "account lock", kind: fault.AccountLocked, noticed: loggedOut, says: failed(metalv1.ReasonAuthenticationFailed, "The account is locked")},
	{name: "clock skew", kind: fault.ClockSkew, says: degraded(metalv1.ReasonClockSkewed, "24h0m behind")},
	{name: "slow POST", kind: fault.SlowPOST, noticed: discovered, says: inSelfTest, after: free},
	{name: "graceful shutdown ignored", kind: fault.IgnoreShutdown, first: running, noticed: released, says: forcedOff},
	{name: "power state frozen", kind: fault.PowerLies, value: "frozen", first: running, noticed: releasedWhenSeen, says: staysOn, after: off},
	{name: "power state as asked", kind: fault.PowerLies, noticed: discovered, says: neverReports, after: free},
	{name: "UUID missing", kind: fault.NoUUID, says: degraded(metalv1.ReasonUUIDMissing, "reports no UUID")},
	{name: "no power state", kind: fault.NoPowerState, says: degraded(metalv1.ReasonPowerStateMissing, "reports no known power state")},
	{name: "no boot target", kind: fault.NoBootTarget, says: degraded(metalv1.ReasonNoBootOverride, "no BootSourceOverrideTarget")},
	{name: "boots from disk only by target", kind: fault.FewBootTargets, first: ignored, noticed: bootsFromDisk, says: well, after: released},
	{name: "boots from disk by a change of one property", kind: fault.FewBootTargets, value: "taken", first: ignored, noticed: bootsFromDisk, says: well, after: released},
	{name: "no Storage", kind: fault.NoStorage, noticed: lookedThrough},       // SimpleStorage does
	{name: "$expand ignored", kind: fault.ExpandLies, noticed: lookedThrough}, // what it links to is read one by one
	{name: "a member that fails", kind: fault.MemberError, noticed: lookedThrough, says: degraded(metalv1.ReasonSystemUnreadable, "500 Internal Server Error")},
	{name: "events dropped", kind: fault.DropEvents}, // polling is the floor
}

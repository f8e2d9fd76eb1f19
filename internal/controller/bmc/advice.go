package bmc

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// advice says what a person can do about an error that the BMC gave; secret is the name of its
// BMCSecret, and counts the object whose credentials are used. It depends on the fields of the error alone, so that the same failure keeps the same words.
func advice(err error, secret string, counts connection.Candidate) string {
	e, ok := errors.AsType[*bmc.Error](err)
	if !ok {
		return ""
	}
	switch {
	case strings.Contains(e.MessageID, "AccountLocked"):
		return "The account is locked. Unlock it at the BMC, or wait until the BMC unlocks it"
	case strings.Contains(e.MessageID, "PasswordChangeRequired"):
		return fmt.Sprintf("The password has expired. Change it at the BMC, and then in BMCSecret %q", secret)
	case e.StatusCode == http.StatusForbidden:
		return fmt.Sprintf("The account in BMCSecret %q lacks a privilege. Give it the role Administrator", secret)
	case e.Kind == bmc.KindAuthentication:
		return fmt.Sprintf("The BMC refuses the account in BMCSecret %q. Correct the credentials there or at the BMC. Until then Farrier tries rarely, because accounts lock", secret)
	case sessionTableFull(e.MessageID):
		return "Others use all sessions of the BMC. End some of them at the BMC, or restart it"
	case e.StatusCode == http.StatusTooManyRequests, e.StatusCode == http.StatusServiceUnavailable:
		return "The BMC asked to wait (Retry-After). If it keeps asking, find out who else sends it requests"
	case e.Kind == bmc.KindServer:
		return "The BMC reports an internal error. Check its log, or restart it"
	case e.Kind == bmc.KindTimeout:
		return "The BMC hangs, is overloaded, or the network drops packets. Restart the BMC if other services on it answer"
	case !e.Accepted.IsZero():
		return connection.HowToAccept(err, counts)
	case e.Kind == bmc.KindUntrusted, e.Handshake:
		todo := "The certificate is not trusted. Check the BMC's certificate and address, and --bmc-ca-file. --insecure-skip-bmc-verify sends the password to whoever answers"
		if accept := connection.HowToAccept(err, counts); accept != "" {
			todo += ". " + accept
		}
		return todo
	case e.Kind == bmc.KindConnection:
		return "Check the BMC's power and network, and its address, port and scheme in spec"
	case e.Kind == bmc.KindProtocol:
		return "The answer is not from a working Redfish service. Check whether this is the address of a BMC, whether the BMC is still starting, and its firmware"
	}
	return ""
}

// sessionTableFull knows the messages of the Base registry for it, and Dell's own.
func sessionTableFull(id string) bool {
	return strings.HasPrefix(id, "SessionLimitExceeded") || strings.HasPrefix(id, "CreateLimitReached") || id == "RAC0218"
}

// degradedCondition says what is wrong with a BMC that answers all the same; nil while nothing is or ever was.
func degradedCondition(conditions []metav1.Condition, o fleet.Observation) *metav1.Condition {
	earlier := apimeta.FindStatusCondition(conditions, metalv1.ConditionDegraded)
	if o.Sequence == 0 || o.Err != nil {
		return earlier // nothing new is known; why, Ready says
	}
	reason, messages := "", []string{}
	found := func(why, format string, args ...any) {
		if reason == "" {
			reason = why
		}
		messages = append(messages, fmt.Sprintf(format, args...))
	}
	for i := range o.Systems {
		systemSymptoms(&o.Systems[i], found)
	}
	for _, uri := range o.Others {
		noBootOverride(uri, found)
	}
	if o.Unread != nil {
		found(metalv1.ReasonSystemUnreadable, "The list of systems is incomplete: %v", o.Unread)
	}
	if o.Symptoms.LosesSessions {
		found(metalv1.ReasonSessionsLost, "The BMC ends each session after one request, so every request needs a login. Check its session time-out and firmware, or restart it")
	}
	if skew := o.Symptoms.ClockSkew; skew != 0 {
		where := "ahead"
		if skew < 0 {
			where = "behind"
		}
		found(metalv1.ReasonClockSkewed, "The BMC's clock is %s %s, which affects its logs, events and certificates. Set the clock, or configure an NTP server", inMinutes(skew.Abs()), where)
	}
	if o.Symptoms.Slow {
		found(metalv1.ReasonSlowAnswers, "The BMC answers slowly: its answers take more than half of the request time-out. Find out who else sends it requests, or restart it")
	}
	switch {
	case reason != "":
		return &metav1.Condition{Status: metav1.ConditionTrue, Reason: reason, Message: strings.Join(messages, ". ")}
	case earlier == nil:
		return nil
	}
	return &metav1.Condition{Status: metav1.ConditionFalse, Reason: metalv1.ReasonAsExpected, Message: "The BMC's answers are as expected"}
}

func systemSymptoms(s *fleet.SystemObservation, found func(why, format string, args ...any)) {
	switch {
	case s.Err != nil:
		found(metalv1.ReasonSystemUnreadable, "System %s cannot be read: %v", s.URI, s.Err)
		return
	case s.Seen.IsZero():
		return
	}
	if !s.IsServer() {
		noBootOverride(s.URI, found)
	}
	if s.PowerState == bmc.PowerUnknown {
		found(metalv1.ReasonPowerStateMissing, "System %s reports no known power state. Farrier does not switch its power until it does", s.URI)
	}
	if s.UUID == "" {
		found(metalv1.ReasonUUIDMissing, "System %s reports no UUID, so only its MAC addresses and serial number identify it. Check its board settings", s.URI)
	}
	if s.Inventory != nil && len(s.Inventory.Missing) > 0 {
		found(metalv1.ReasonInventoryIncomplete, "System %s did not report its %s", s.URI, strings.Join(s.Inventory.Missing, ", "))
	}
}

func noBootOverride(uri string, found func(why, format string, args ...any)) {
	found(metalv1.ReasonNoBootOverride, "System %s has no BootSourceOverrideTarget, so Farrier cannot boot it from the network and creates no Server for it", uri)
}

// inMinutes leaves out the seconds, which a skew does not have.
func inMinutes(d time.Duration) string { return strings.TrimSuffix(d.String(), "0s") }

package bootservers

import (
	"fmt"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
)

// Status is what managers know of a boot server. A ConfigMap has it (statuses.go), since a boot server is no object.
type Status struct {
	// Site is whose machines it answers; empty: those without a site.
	Site string `json:"site,omitempty"`
	// Since is when it began to follow the manager, or, where it does not follow, when that was seen.
	Since *metav1.Time `json:"since,omitempty"`
	// CertificateExpires is the end of the certificate that it showed last.
	CertificateExpires *metav1.Time       `json:"certificateExpires,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// The conditions of a boot server.
const (
	// ConditionConnected: it follows a manager.
	ConditionConnected = "Connected"
	// ConditionCertificateValid: its certificate is good, and was renewed in time.
	ConditionCertificateValid = "CertificateValid"
	// ConditionReady: machines can be sent to it. Unknown while it does not follow.
	ConditionReady = "Ready"
	// ConditionHealthy: it tells of no problem of its own. Unknown while it does not follow.
	ConditionHealthy = "Healthy"
	// ConditionRecordsUsable: it uses everything that it is sent. Unknown while it does not follow.
	ConditionRecordsUsable = "RecordsUsable"
)

// lateIn is the part of a certificate's life at whose end it should have been renewed long ago: boot servers, and cert-manager, renew when a third
// is left.
const lateIn = 6

// look is what is known of one boot server at a moment.
type look struct {
	site  string
	seen  *peer.Peer              // who connected last; nil: nobody since the start of this process
	now   time.Time               // of the look
	here  []bootstream.BootServer // its connections
	known bool                    // the absence of connections says something: they had time to come
}

// next is the status that follows from a look. It is the same as before where nothing has changed.
func (l look) next(before Status) Status {
	s := Status{Site: l.site, Since: before.Since, CertificateExpires: before.CertificateExpires, Conditions: append([]metav1.Condition(nil), before.Conditions...)}
	l.connected(&s)
	l.certificate(&s)
	l.told(&s)
	return s
}

func (l look) set(s *Status, condition string, is metav1.ConditionStatus, reason, format string, args ...any) {
	apimeta.SetStatusCondition(&s.Conditions, metav1.Condition{
		Type: condition, Status: is, Reason: reason, Message: fmt.Sprintf(format, args...), LastTransitionTime: metav1.NewTime(l.now.UTC().Truncate(time.Second)),
	})
}

func (l look) connected(s *Status) {
	was := apimeta.FindStatusCondition(s.Conditions, ConditionConnected)
	switch {
	case len(l.here) > 0:
		first := l.here[0].Since
		for _, b := range l.here[1:] {
			if b.Since.Before(first) {
				first = b.Since
			}
		}
		s.Since = at(first)
		l.set(s, ConditionConnected, metav1.ConditionTrue, "Follows", "The boot server follows the leading manager")
	case !l.known: // what was found before counts on
	case was == nil:
		l.set(s, ConditionConnected, metav1.ConditionFalse, "NeverConnected", "The boot server has not connected yet")
	case was.Status == metav1.ConditionTrue:
		s.Since = at(l.now)
		l.set(s, ConditionConnected, metav1.ConditionFalse, "Disconnected", "The boot server does not follow any more; it answers machines from the view that it has")
	}
}

func (l look) certificate(s *Status) {
	if l.seen != nil {
		s.CertificateExpires = at(l.seen.Expires)
	}
	end := s.CertificateExpires
	switch {
	case end == nil:
		apimeta.RemoveStatusCondition(&s.Conditions, ConditionCertificateValid)
	case !l.now.Before(end.Time):
		l.set(s, ConditionCertificateValid, metav1.ConditionFalse, "Expired", "The certificate ended at %s: the boot server cannot connect before it has another", end.UTC().Format(time.RFC3339))
	case l.seen == nil: // its beginning is not known, so what was found before counts on
	case end.Sub(l.now) < l.seen.Expires.Sub(l.seen.Issued)/lateIn:
		l.set(s, ConditionCertificateValid, metav1.ConditionFalse, "RenewalLate", "The certificate ends at %s and should have been renewed", end.UTC().Format(time.RFC3339))
	default:
		l.set(s, ConditionCertificateValid, metav1.ConditionTrue, "Valid", "The certificate is valid until %s", end.UTC().Format(time.RFC3339))
	}
}

// told are the conditions that a boot server itself tells of.
func (l look) told(s *Status) {
	if len(l.here) == 0 {
		if apimeta.IsStatusConditionFalse(s.Conditions, ConditionConnected) {
			for _, condition := range []string{ConditionReady, ConditionHealthy, ConditionRecordsUsable} {
				l.set(s, condition, metav1.ConditionUnknown, "NotConnected", "The boot server does not follow")
			}
		}
		return
	}
	ready, problems, refused := true, []string(nil), 0
	for _, b := range l.here {
		if b.Health == nil {
			return // it tells soon
		}
		ready = ready && b.Health.Ready
		problems = append(problems, b.Health.Problems...)
		refused = max(refused, len(b.Refused))
	}
	if ready {
		l.set(s, ConditionReady, metav1.ConditionTrue, "Ready", "Machines can be sent to the boot server")
	} else {
		l.set(s, ConditionReady, metav1.ConditionFalse, "NotReady", "Machines cannot be sent to the boot server: its view is not complete, or it cannot listen")
	}
	if len(problems) == 0 {
		l.set(s, ConditionHealthy, metav1.ConditionTrue, "NoProblems", "The boot server tells of no problem")
	} else {
		l.set(s, ConditionHealthy, metav1.ConditionFalse, "Problems", "%s", clip(strings.Join(problems, "; ")))
	}
	if refused == 0 {
		l.set(s, ConditionRecordsUsable, metav1.ConditionTrue, "AllUsable", "The boot server uses everything that it is sent")
	} else {
		l.set(s, ConditionRecordsUsable, metav1.ConditionFalse, "Refused", "The boot server cannot use %d records, whose last good ones stay; the boot configs, Profiles and Assignments among them say why", refused)
	}
}

// at is a moment as it is kept: in whole seconds.
func at(t time.Time) *metav1.Time {
	kept := metav1.NewTime(t.UTC().Truncate(time.Second))
	return &kept
}

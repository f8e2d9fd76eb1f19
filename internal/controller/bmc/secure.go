package bmc

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// secureCondition reports whether credentials travel to the BMC, and to it alone, in secret. That a certificate is good is known once one was. accepted is
// the one that a person has accepted, and then no other is good, also where skipVerify says that certificates are not verified.
func secureCondition(e bmc.Endpoint, accepted bmc.AcceptedCertificate, skipVerify bool, o fleet.Observation) *metav1.Condition {
	judged := o.Certificate == accepted // what was observed was judged by the present rules
	switch {
	case !e.Secure():
		return &metav1.Condition{Status: metav1.ConditionFalse, Reason: metalv1.ReasonPlainHTTP, Message: "Farrier sends credentials unencrypted to " + e.Key()}
	case bmc.KindOf(o.Err) == bmc.KindUntrusted && judged:
		return &metav1.Condition{Status: metav1.ConditionFalse, Reason: metalv1.ReasonUntrusted, Message: refusal(e, o.Err) + ". Farrier sent no credentials"}
	case skipVerify && accepted.IsZero():
		return &metav1.Condition{Status: metav1.ConditionFalse, Reason: metalv1.ReasonNotVerified, Message: "Farrier does not verify the certificate at " + e.Key()}
	case !handshaken(o) || !judged:
		return &metav1.Condition{Status: metav1.ConditionUnknown, Reason: metalv1.ReasonNotObserved, Message: "Waiting for the first TLS handshake with " + e.Key()}
	case !accepted.IsZero():
		return &metav1.Condition{Status: metav1.ConditionTrue, Reason: metalv1.ReasonCertificateAccepted, Message: "TLS with the certificate that a person has accepted"}
	}
	return &metav1.Condition{Status: metav1.ConditionTrue, Reason: metalv1.ReasonVerified, Message: "TLS with a verified certificate"}
}

// refusal says which certificate was refused, and by what rule.
func refusal(at bmc.Endpoint, err error) string {
	e, ok := errors.AsType[*bmc.Error](err)
	switch {
	case !ok || e.Certificate == "":
		return "The certificate at " + at.Key() + " is not trusted"
	case e.Accepted.IsZero():
		return "The certificate at " + at.Key() + " with SHA-256 fingerprint " + e.Certificate + " is not trusted"
	case e.Accepted.Malformed():
		return "The certificate at " + at.Key() + " with SHA-256 fingerprint " + e.Certificate + " is not trusted: annotation " + metalv1.AnnotationCertificate + " is no fingerprint"
	}
	return "The certificate at " + at.Key() + " with SHA-256 fingerprint " + e.Certificate + " is not the one that a person has accepted"
}

// handshaken reports whether something was heard over a connection to the BMC: an answer since the start, whatever has become of the BMC after it, or an
// error that is one.
func handshaken(o fleet.Observation) bool {
	e, ok := errors.AsType[*bmc.Error](o.Err)
	return o.Sequence > 0 || ok && e.StatusCode != 0
}

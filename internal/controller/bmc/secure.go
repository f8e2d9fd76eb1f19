package bmc

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// secureCondition reports whether credentials travel to the BMC, and to it alone, in secret. That a certificate is verified is known once one was.
func secureCondition(e bmc.Endpoint, skipVerify bool, o fleet.Observation) *metav1.Condition {
	switch {
	case !e.Secure():
		return &metav1.Condition{Status: metav1.ConditionFalse, Reason: metalv1.ReasonPlainHTTP, Message: "Farrier sends credentials unencrypted to " + e.Key()}
	case bmc.KindOf(o.Err) == bmc.KindUntrusted:
		return &metav1.Condition{Status: metav1.ConditionFalse, Reason: metalv1.ReasonUntrusted, Message: "The certificate at " + e.Key() + " is not trusted. Farrier sent no credentials"}
	case skipVerify:
		return &metav1.Condition{Status: metav1.ConditionFalse, Reason: metalv1.ReasonNotVerified, Message: "Farrier does not verify the certificate at " + e.Key()}
	case !handshaken(o):
		return &metav1.Condition{Status: metav1.ConditionUnknown, Reason: metalv1.ReasonNotObserved, Message: "Waiting for the first TLS handshake with " + e.Key()}
	}
	return &metav1.Condition{Status: metav1.ConditionTrue, Reason: metalv1.ReasonVerified, Message: "TLS with a verified certificate"}
}

// handshaken reports whether something was heard over a connection to the BMC: an answer since the start, whatever has become of the BMC after it, or an
// error that is one.
func handshaken(o fleet.Observation) bool {
	e, ok := errors.AsType[*bmc.Error](o.Err)
	return o.Sequence > 0 || ok && e.StatusCode != 0
}

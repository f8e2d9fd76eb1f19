package bmc

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestWhetherACertificateIsVerified: nobody has verified the certificate of a BMC that was never reached.
func TestWhetherACertificateIsVerified(t *testing.T) {
	refused := &bmc.Error{Kind: bmc.KindUntrusted, Op: "GET", Message: "x509: certificate signed by unknown authority"}
	for name, tc := range map[string]struct {
		fails  error
		skip   bool
		status metav1.ConditionStatus
		reason string
	}{
		"it answers":                         {nil, false, metav1.ConditionTrue, metalv1.ReasonVerified},
		"it answers, with anybody's":         {nil, true, metav1.ConditionFalse, metalv1.ReasonNotVerified},
		"it does not answer":                 {&bmc.Error{Kind: bmc.KindTimeout, Op: "GET", Message: "no answer in time"}, false, metav1.ConditionUnknown, "NotObserved"},
		"nothing is there":                   {&bmc.Error{Kind: bmc.KindConnection, Op: "GET", Message: "connection refused"}, false, metav1.ConditionUnknown, "NotObserved"},
		"it refuses the password":            {&bmc.Error{Kind: bmc.KindAuthentication, Op: "POST", StatusCode: 401}, false, metav1.ConditionTrue, metalv1.ReasonVerified},
		"it is ill":                          {&bmc.Error{Kind: bmc.KindServer, Op: "GET", StatusCode: 503}, false, metav1.ConditionTrue, metalv1.ReasonVerified},
		"its certificate is not good":        {refused, false, metav1.ConditionFalse, metalv1.ReasonUntrusted},
		"it speaks no TLS, and anybody may":  {refused, true, metav1.ConditionFalse, metalv1.ReasonUntrusted},
		"nothing is there, and anybody's is": {&bmc.Error{Kind: bmc.KindConnection, Op: "GET", Message: "connection refused"}, true, metav1.ConditionFalse, metalv1.ReasonNotVerified},
	} {
		t.Run(name, func(t *testing.T) {
			stands(t, func(t *testing.T, s *stand) {
				controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { b.Spec.Protocol.Scheme = metalv1.SchemeHTTPS })
				secure := s.rack.BMC("https://10.0.0.1:8000")
				secure.Fails(tc.fails)
				s.SkipVerify = tc.skip
				b := s.settle(t)
				controllertest.Says(t, b.Status.Conditions, metalv1.ConditionSecure, tc.status, tc.reason)
			})
		})
	}
}

// TestACertificateThatIsGoodNoLonger: and one that was verified stays so while the BMC is silent.
func TestACertificateThatIsGoodNoLonger(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { b.Spec.Protocol.Scheme = metalv1.SchemeHTTPS })
		secure := s.rack.BMC("https://10.0.0.1:8000")
		s.settle(t)
		secure.Fails(&bmc.Error{Kind: bmc.KindTimeout, Op: "GET", Message: "no answer in time"})
		s.rack.Look("https://10.0.0.1:8000")
		b := s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonConnectionFailed)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionSecure, metav1.ConditionTrue, metalv1.ReasonVerified)
		secure.Fails(&bmc.Error{Kind: bmc.KindUntrusted, Op: "GET", Message: "x509: certificate has expired or is not yet valid"})
		b = s.pass(t, 15*time.Minute)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionSecure, metav1.ConditionFalse, metalv1.ReasonUntrusted)
		if got := append(s.told(metalv1.ReasonPlainHTTP), s.told(metalv1.ReasonNotVerified)...); len(got) != 0 {
			t.Errorf("told a second time: %q", got)
		}
		if got := s.told(metalv1.ReasonUntrusted); len(got) != 1 {
			t.Errorf("events %q", got)
		}
	})
}

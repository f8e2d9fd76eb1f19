package bmc

import (
	"regexp"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// Fingerprints of certificates that no authority has signed.
var (
	firstCertificate  = strings.Repeat("A1:", 31) + "A1"
	secondCertificate = strings.Repeat("B2:", 31) + "B2"
)

const secureAddress = "https://10.0.0.1:8000"

// secure makes BMC "b" one that speaks https.
func (s *stand) secure(t *testing.T) *controllertest.BMC {
	t.Helper()
	controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { b.Spec.Protocol.Scheme = metalv1.SchemeHTTPS })
	return s.rack.BMC(secureAddress)
}

// accepts writes an annotation of BMC "b" as a person does.
func (s *stand) accepts(t *testing.T, key, value string) *metalv1.BMC {
	t.Helper()
	controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { metav1.SetMetaDataAnnotation(&b.ObjectMeta, key, value) })
	return s.settle(t)
}

var commandToAccept = regexp.MustCompile(`kubectl annotate( --overwrite)? bmc b (\S+)=(\S+)$`)

// obeys does what condition Ready says at its end.
func (s *stand) obeys(t *testing.T, b *metalv1.BMC, overwrite bool) *metalv1.BMC {
	t.Helper()
	ready := apimeta.FindStatusCondition(b.Status.Conditions, metalv1.ConditionReady)
	command := commandToAccept.FindStringSubmatch(ready.Message)
	if command == nil || (command[1] != "") != overwrite {
		t.Fatalf("no command, or another: %s", ready.Message)
	}
	return s.accepts(t, command[2], command[3])
}

func refusesCertificate(t *testing.T, b *metalv1.BMC, ready, secure string) {
	t.Helper()
	controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonUntrusted, ready)
	controllertest.Says(t, b.Status.Conditions, metalv1.ConditionSecure, metav1.ConditionFalse, metalv1.ReasonUntrusted, secure, "Farrier sent no credentials")
}

func trustsAccepted(t *testing.T, b *metalv1.BMC) {
	t.Helper()
	controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
	controllertest.Says(t, b.Status.Conditions, metalv1.ConditionSecure, metav1.ConditionTrue, metalv1.ReasonCertificateAccepted, "TLS with the certificate that a person has accepted")
}

// TestACertificateIsAcceptedAsTheMessageSays: at once, and no other is.
func TestACertificateIsAcceptedAsTheMessageSays(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		secure := s.secure(t)
		secure.Shows(firstCertificate)
		b := s.settle(t)
		refusesCertificate(t, b, "--bmc-ca-file", "The certificate at "+secureAddress+" with SHA-256 fingerprint "+firstCertificate+" is not trusted")
		trustsAccepted(t, s.obeys(t, b, false))

		secure.Shows(secondCertificate)
		s.rack.Look(secureAddress)
		b = s.settle(t)
		refusesCertificate(t, b, "has the fingerprint of another. Find out why", secondCertificate+" is not the one that a person has accepted")
		trustsAccepted(t, s.obeys(t, b, true))

		secure.Shows("") // one that an authority has signed is another
		s.rack.Look(secureAddress)
		controllertest.Says(t, s.settle(t).Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonUntrusted)
		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) { delete(b.Annotations, metalv1.AnnotationCertificate) })
		b = s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionSecure, metav1.ConditionTrue, metalv1.ReasonVerified)

		secure.Shows(secondCertificate)
		b = s.accepts(t, metalv1.AnnotationCertificate, "AB:CD")
		refusesCertificate(t, b, "The annotation farrier.dev/certificate is no SHA-256 fingerprint (32 pairs of hexadecimal digits, AA:BB:…", "annotation farrier.dev/certificate is no fingerprint")
		trustsAccepted(t, s.obeys(t, b, true))
		b = s.accepts(t, metalv1.AnnotationCertificate, "")
		refusesCertificate(t, b, "no SHA-256 fingerprint", "no fingerprint")
		trustsAccepted(t, s.accepts(t, metalv1.AnnotationCertificate, "sha256 Fingerprint="+strings.ToLower(secondCertificate)))
		if got := s.told(metalv1.ReasonUntrusted); len(got) != 5 {
			t.Errorf("events %q", got)
		}
		if got := append(s.told(metalv1.ReasonPlainHTTP), s.told(metalv1.ReasonNotVerified)...); len(got) != 0 {
			t.Errorf("told a second time: %q", got)
		}
	})
}

// TestAnAcceptedCertificateCountsWhereNoneIsVerified: under --insecure-skip-bmc-verify too.
func TestAnAcceptedCertificateCountsWhereNoneIsVerified(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		secure := s.secure(t)
		s.SkipVerify = true
		secure.Shows(firstCertificate)
		trustsAccepted(t, s.accepts(t, metalv1.AnnotationCertificate, firstCertificate))
		b := s.accepts(t, metalv1.AnnotationCertificate, secondCertificate)
		refusesCertificate(t, b, "has the fingerprint of another", "is not the one that a person has accepted")
	})
}

// TestACertificateIsJudgedByThePresentRules: what was observed under other rules says nothing about the present ones.
func TestACertificateIsJudgedByThePresentRules(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		secure := s.secure(t)
		b := s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionSecure, metav1.ConditionTrue, metalv1.ReasonVerified)
		secure.Fails(&bmc.Error{Kind: bmc.KindTimeout, Op: "GET", Message: "no answer in time"})
		b = s.accepts(t, metalv1.AnnotationCertificate, firstCertificate)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionSecure, metav1.ConditionUnknown, metalv1.ReasonNotObserved)
		secure.Fails(nil)
		secure.Shows(firstCertificate)
		trustsAccepted(t, s.pass(t, time.Minute))
	})
}

// TestNoOtherWayToAnotherCertificateThanTheAccepted: not over SSH either, not after any delay, and not by force.
func TestNoOtherWayToAnotherCertificateThanTheAccepted(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		secure, sh := s.secure(t), s.overSSH()
		s.FailureResetDelay = 10 * time.Minute
		secure.Shows(firstCertificate)
		s.accepts(t, metalv1.AnnotationSSHHostKey, "SHA256:one")
		trustsAccepted(t, s.accepts(t, metalv1.AnnotationCertificate, firstCertificate))
		secure.Shows(secondCertificate)
		asked := secure.Logins()["right"]
		s.rack.Look(secureAddress)
		s.settle(t)
		s.rack.Pass(24 * time.Hour)
		s.settle(t)
		for _, operation := range []string{metalv1.OperationForceRestartBMC, metalv1.OperationGracefulRestartBMC} {
			s.asks(t, operation)
			s.settle(t)
			s.resetSays(t, metav1.ConditionFalse, metalv1.ReasonUntrusted, "no password")
		}
		if len(sh.requests) != 0 || secure.Logins()["right"] != asked {
			t.Errorf("over SSH %+v, over Redfish %d requests", sh.requests, secure.Logins()["right"]-asked)
		}
	})
}

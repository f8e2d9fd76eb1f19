package faults

import (
	"regexp"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// acceptCertificates accepts the certificate that a BMC has from its factory, as the message says, and then the one that it has instead.
func (s *stand) acceptCertificates(t *testing.T) {
	const i = selfSigned
	secure := func(status metav1.ConditionStatus, reason, mention string) statement {
		return statement{"BMC", metalv1.ConditionSecure, status, reason, mention}
	}
	e, err := s.InjectFault(fault.Spec{Kind: fault.TLSFailure, BMCs: []int{i + 1}, Value: "self-signed"})
	if err != nil {
		t.Fatal(err)
	}
	disconnected(t, s, i)
	s.says(t, i, failed(metalv1.ReasonUntrusted, "To trust this certificate and no other, compare its fingerprint"))
	s.says(t, i, secure(metav1.ConditionFalse, metalv1.ReasonUntrusted, "with SHA-256 fingerprint"))
	s.obeys(t, i, "")
	s.ready(t, i)
	s.says(t, i, secure(metav1.ConditionTrue, metalv1.ReasonCertificateAccepted, "a person has accepted"))

	if err := s.ClearFault(e.ID); err != nil { // an authority has signed the next, which makes no difference
		t.Fatal(err)
	}
	disconnected(t, s, i)
	s.says(t, i, failed(metalv1.ReasonUntrusted, "has the fingerprint of another. Find out why the certificate has changed"))
	s.says(t, i, secure(metav1.ConditionFalse, metalv1.ReasonUntrusted, "is not the one that a person has accepted"))
	s.obeys(t, i, " --overwrite")
	s.ready(t, i)
	s.says(t, i, secure(metav1.ConditionTrue, metalv1.ReasonCertificateAccepted, ""))

	obj := &metalv1.BMC{ObjectMeta: named(s.names[i])}
	s.annotate(t.Context(), t, obj, metalv1.AnnotationCertificate, "the blue one")
	s.says(t, i, failed(metalv1.ReasonUntrusted, "The annotation farrier.dev/certificate is no SHA-256 fingerprint"))
	s.annotate(t.Context(), t, obj, metalv1.AnnotationCertificate, "") // removes it
	s.ready(t, i)
	s.says(t, i, secure(metav1.ConditionTrue, metalv1.ReasonVerified, ""))
}

var commandToAccept = regexp.MustCompile(`kubectl annotate( --overwrite)? bmc (\S+) (\S+)=(\S+)$`)

// obeys does what the command at the end of Ready of a BMC says; flag is what it has to have.
func (s *stand) obeys(t *testing.T, i int, flag string) {
	t.Helper()
	ready := apimeta.FindStatusCondition(s.conditions(t, "BMC", i), metalv1.ConditionReady)
	command := commandToAccept.FindStringSubmatch(ready.Message)
	if command == nil || command[1] != flag || command[2] != s.names[i] {
		t.Fatalf("no command, or another: %s", ready.Message)
	}
	s.annotate(t.Context(), t, &metalv1.BMC{ObjectMeta: named(command[2])}, command[3], command[4])
}

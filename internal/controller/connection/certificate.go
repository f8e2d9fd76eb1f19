package connection

import (
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
)

// acceptedCertificate is the certificate that a person has accepted for the BMC of an object.
func acceptedCertificate(obj client.Object) bmc.AcceptedCertificate {
	text, given := obj.GetAnnotations()[metalv1.AnnotationCertificate]
	if !given {
		return bmc.AcceptedCertificate{}
	}
	return bmc.AcceptCertificate(text)
}

// HowToAccept says how a person accepts the certificate that a BMC was refused for, at the object whose credentials are used for the BMC; empty where an
// error is about no certificate.
func HowToAccept(err error, at Candidate) string {
	e, ok := errors.AsType[*bmc.Error](err)
	if !ok || e.Certificate == "" {
		return ""
	}
	const name = metalv1.AnnotationCertificate
	object := "bmc " + at.Name
	if at.Inline {
		object = "server " + at.Name
	}
	switch {
	case e.Accepted.IsZero():
		return fmt.Sprintf("To trust this certificate and no other, compare its fingerprint with the one that the BMC shows, then: kubectl annotate %s %s=%s", object, name, e.Certificate)
	case e.Accepted.Malformed():
		return fmt.Sprintf("The annotation %s is no SHA-256 fingerprint (32 pairs of hexadecimal digits, AA:BB:…, as openssl x509 -noout -fingerprint -sha256 prints it). "+
			"If the certificate is the BMC's: kubectl annotate --overwrite %s %[1]s=%[3]s", name, object, e.Certificate)
	}
	return fmt.Sprintf("The annotation %s has the fingerprint of another. Find out why the certificate has changed. If the new one is the BMC's: kubectl annotate --overwrite %s %[1]s=%[3]s",
		name, object, e.Certificate)
}

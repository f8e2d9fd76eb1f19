package connection

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
)

func TestAcceptedCertificate(t *testing.T) {
	fingerprint := strings.Repeat("AB:", 31) + "AB"
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        bmc.AcceptedCertificate
	}{
		"none":           {nil, bmc.AcceptedCertificate{}},
		"one":            {map[string]string{metalv1.AnnotationCertificate: fingerprint}, bmc.AcceptCertificate(fingerprint)},
		"no fingerprint": {map[string]string{metalv1.AnnotationCertificate: "yes"}, bmc.AcceptCertificate("yes")},
		"empty":          {map[string]string{metalv1.AnnotationCertificate: ""}, bmc.AcceptCertificate("")},
	} {
		t.Run(name, func(t *testing.T) {
			server := &metalv1.Server{}
			server.Annotations = tc.annotations
			if got := InlineSpec(server, bmc.Endpoint{}, bmc.Credentials{}).Certificate; got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestHowToAccept(t *testing.T) {
	refused := func(shown string, accepted bmc.AcceptedCertificate) error {
		return fmt.Errorf("inventory: %w", &bmc.Error{Kind: bmc.KindUntrusted, Certificate: shown, Accepted: accepted})
	}
	accepted := bmc.AcceptCertificate(strings.Repeat("AB", 32))
	for name, tc := range map[string]struct {
		err  error
		at   Candidate
		want string // at the end
	}{
		"nothing accepted":   {refused("AA:BB", bmc.AcceptedCertificate{}), Candidate{Name: "b"}, "then: kubectl annotate bmc b farrier.dev/certificate=AA:BB"},
		"an inline BMC":      {refused("AA:BB", bmc.AcceptedCertificate{}), Candidate{Name: "s", Inline: true}, "then: kubectl annotate server s farrier.dev/certificate=AA:BB"},
		"another":            {refused("AA:BB", accepted), Candidate{Name: "b"}, "If the new one is the BMC's: kubectl annotate --overwrite bmc b farrier.dev/certificate=AA:BB"},
		"no fingerprint":     {refused("AA:BB", bmc.AcceptCertificate("")), Candidate{Name: "s", Inline: true}, "is the BMC's: kubectl annotate --overwrite server s farrier.dev/certificate=AA:BB"},
		"no certificate":     {&bmc.Error{Kind: bmc.KindUntrusted}, Candidate{Name: "b"}, ""},
		"of another package": {errors.New("no"), Candidate{Name: "b"}, ""},
	} {
		if got := HowToAccept(tc.err, tc.at); !strings.HasSuffix(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

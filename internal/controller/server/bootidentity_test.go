package server

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// TestByBMC: what a machine is told to boot where it is told apart by what its BMC was given, and when it cannot be.
func TestByBMC(t *testing.T) {
	uki := func(url string) []bootmethod.Made {
		return []bootmethod.Made{bootmethod.HTTP.Made(&bootv1.HTTPBootConfig{Spec: bootv1.HTTPBootConfigSpec{UKIURL: url}})}
	}
	offers := func(targets ...bmc.BootTarget) *fleet.SystemObservation {
		s := &fleet.SystemObservation{}
		for _, target := range targets {
			s.Boot.Targets = append(s.Boot.Targets, string(target))
		}
		return s
	}
	const url = "https://10.0.0.1:8443/httpboot/r/i/sha256-aa.efi"
	for name, tc := range map[string]struct {
		made   []bootmethod.Made
		system *fleet.SystemObservation
		uri    string
		shown  metav1.ConditionStatus
	}{
		"all there":       {uki(url), offers(bmc.BootPXE, bmc.BootUEFIHTTP), "https://10.0.0.1:8443/httpboot/~secret/r/i/sha256-aa.efi", metav1.ConditionTrue},
		"PXE alone":       {uki(url), offers(bmc.BootPXE), "", metav1.ConditionFalse},
		"no UKI":          {nil, offers(bmc.BootUEFIHTTP), "", metav1.ConditionTrue},
		"somebody else's": {uki("http://elsewhere/x.efi"), offers(bmc.BootUEFIHTTP), "", metav1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			v := &View{Made: tc.made, System: tc.system, BMCToken: "secret"}
			why, ok := v.bootsByBMC()
			if ok != (tc.uri != "") || ok == (why != "") {
				t.Errorf("%v, because %q", ok, why)
			}
			if ok && v.bootOverride() != (bmc.BootOverride{Target: bmc.BootUEFIHTTP, URI: tc.uri}) {
				t.Errorf("boots %+v", v.bootOverride())
			}
			if got := uefiHTTPBootCondition(v).Status; got != tc.shown {
				t.Errorf("shown %s", got)
			}
		})
	}
}

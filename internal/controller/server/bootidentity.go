package server

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
)

// uefiHTTPBoot says whether the machine can be told apart by a URL that its BMC is given.
func uefiHTTPBoot(v *View) metav1.Condition {
	if v.System.Boot.Offers(bmc.BootUEFIHTTP) {
		return metav1.Condition{Type: metalv1.ConditionUEFIHTTPBoot, Status: metav1.ConditionTrue, Reason: "Offered", Message: "The BMC takes the URL of what the machine boots"}
	}
	return metav1.Condition{Type: metalv1.ConditionUEFIHTTPBoot, Status: metav1.ConditionFalse, Reason: "NotOffered", Message: "The BMC offers no UEFI HTTP boot (BootSourceOverrideTarget UefiHttp)"}
}

// bootsByBMC reports whether what is to be booted has a URL of ours that the BMC can be given, and says otherwise why not.
func (v *View) bootsByBMC() (why string, ok bool) {
	switch {
	case v.HTTPBoot == nil || !strings.Contains(v.HTTPBoot.Spec.UKIURL, ukiPath):
		return "its image holds no unified kernel image", false
	case v.System != nil && !v.System.Boot.Offers(bmc.BootUEFIHTTP):
		return "its BMC offers no UEFI HTTP boot", false
	}
	return "", true
}

// ukiPath is in every URL of a UKI at the boot server.
const ukiPath = "/httpboot/"

// bootURI is the URL of the UKI. Where machines are told apart by what their BMC was given, a token is in it that nobody else has seen.
func (v *View) bootURI() string {
	url := v.HTTPBoot.Spec.UKIURL
	if before, after, ours := strings.Cut(url, ukiPath); v.BMCToken != "" && ours {
		return before + ukiPath + "~" + v.BMCToken + "/" + after
	}
	return url
}

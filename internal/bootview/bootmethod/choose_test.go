package bootmethod

import (
	"slices"
	"testing"
)

// TestChoose: a machine boots by the last method that its image holds and its BMC offers.
func TestChoose(t *testing.T) {
	ipxe, http, elsewhere, empty := Made{Method: IPXE}, Made{HTTP, "http://b/httpboot/x.efi"}, Made{HTTP, "http://c/x.efi"}, Made{Method: HTTP}
	for name, tc := range map[string]struct {
		made    []Made
		offered []string
		want    Made
		ours    Made // zero: there is none
	}{
		"iPXE alone":                         {[]Made{ipxe}, []string{IPXE.Target, HTTP.Target}, ipxe, Made{}},
		"both":                               {[]Made{ipxe, http}, []string{IPXE.Target, HTTP.Target}, http, http},
		"both, one offered":                  {[]Made{ipxe, http}, []string{IPXE.Target}, ipxe, http},
		"both, none offered":                 {[]Made{ipxe, http}, nil, ipxe, http},
		"UEFI HTTP alone, and not offered":   {[]Made{http}, []string{IPXE.Target}, http, http},
		"both, and one names no file":        {[]Made{ipxe, empty}, []string{HTTP.Target}, ipxe, Made{}},
		"nothing to boot":                    {[]Made{empty}, []string{HTTP.Target}, ipxe, Made{}},
		"no boot config":                     {nil, []string{HTTP.Target}, ipxe, Made{}},
		"a file of somebody else's":          {[]Made{elsewhere}, []string{HTTP.Target}, elsewhere, Made{}},
		"a file of somebody else's, or iPXE": {[]Made{ipxe, elsewhere}, []string{HTTP.Target}, elsewhere, Made{}},
	} {
		t.Run(name, func(t *testing.T) {
			offers := func(target string) bool { return slices.Contains(tc.offered, target) }
			if got := Choose(tc.made, offers); got.Kind != tc.want.Kind || got.URL != tc.want.URL {
				t.Errorf("boots by %s %q", got.Kind, got.URL)
			}
			if got, ok := ChooseOurs(tc.made, offers); ok != (tc.ours.Kind != "") || got.Kind != tc.ours.Kind || got.URL != tc.ours.URL {
				t.Errorf("of ours: %s %q", got.Kind, got.URL)
			}
		})
	}
	if got := http.URLFor("t"); got != "http://b/httpboot/~t/x.efi" {
		t.Errorf("with a token: %s", got)
	}
	for _, m := range []Made{elsewhere, ipxe} {
		if got := m.URLFor("t"); got != m.URL {
			t.Errorf("a token is told to somebody else: %s", got)
		}
	}
}

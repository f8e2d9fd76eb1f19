package subscription

import (
	"testing"

	"github.com/farrier-dev/farrier/internal/bmc"
)

func TestSpellingsOfOneDestination(t *testing.T) {
	for _, tc := range []struct {
		a, b bmc.Secret
		want bool
	}{
		{"http://a:9000/alerts/u/t", "http://a:9000/alerts/u/t", true},
		{"http://a/alerts/u/t", "http://A:80/alerts/u/t", true},
		{"https://a:443/x/alerts/u/t", "https://a/x/alerts/u/t", true},
		{"https://[2001:DB8::1]:443/t", "https://[2001:db8::1]/t", true},
		{"http://a/alerts/u/t", "https://a/alerts/u/t", false},
		{"http://a/alerts/u/t", "http://b/alerts/u/t", false},
		{"http://a/alerts/u/t", "http://a:81/alerts/u/t", false},
		{"http://a/x/alerts/u/t", "http://a/alerts/u/t", false},
		{"http://a/alerts/u/t", "http://a:port/alerts/u/t", false},
	} {
		if got := same(tc.a, tc.b); got != tc.want {
			t.Errorf("%s and %s: %v", tc.a.Reveal(), tc.b.Reveal(), got)
		}
	}
}

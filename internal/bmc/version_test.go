package bmc_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/farrier-dev/farrier/internal/bmc"
)

func TestCompareVersions(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"2.9", "2.10", -1},
		{"2.4", "2.4.0", 0},
		{"v2.4.1", "2.4.1", 0},
		{"U46 v2.50 (11/10/2022)", "u46 V2.50", 0},
		{"U46 v2.50", "U46 v2.60", -1},
		{"2.10.0-rc1", "2.10.0", -1},
		{"3.0", "2.99.99", 1},
		{"007", "7", 0},
		{"1.99999999999999999999999", "1.100000000000000000000000", -1},
		{"", "", 0},
		{"", "0", 0},
		{"", "1", -1},
		{"(beta)", "(beta)", 0},
	} {
		if got := bmc.CompareVersions(tc.a, tc.b); got != tc.want {
			t.Errorf("CompareVersions(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
		if got := bmc.CompareVersions(tc.b, tc.a); got != -tc.want {
			t.Errorf("CompareVersions(%q, %q) = %d, want %d", tc.b, tc.a, got, -tc.want)
		}
	}
}

func TestVersionsAreAnOrder(t *testing.T) {
	version := rapid.StringMatching(`[v ]?[0-9a-c]{0,3}([.-][0-9a-c]{0,2}){0,3}( \(x\))?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := version.Draw(t, "a"), version.Draw(t, "b"), version.Draw(t, "c")
		ab, bc, ac := bmc.CompareVersions(a, b), bmc.CompareVersions(b, c), bmc.CompareVersions(a, c)
		switch {
		case bmc.CompareVersions(a, a) != 0, bmc.CompareVersions(b, a) != -ab:
			t.Fatalf("%q, %q", a, b)
		case ab <= 0 && bc <= 0 && ac > 0, ab == 0 && bc == 0 && ac != 0:
			t.Fatalf("%q, %q, %q", a, b, c)
		}
	})
}

package dhcp

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"idrac-1": "idrac-1", " iDRAC\x00": "iDRAC", "a\nb\x1b[31m": "ab[31m", "héllo\xff": "hllo", "": "", strings.Repeat("x", 300): strings.Repeat("x", maxText),
	} {
		if got := Text([]byte(in)); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

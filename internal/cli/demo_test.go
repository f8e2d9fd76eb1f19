package cli

import (
	"bytes"
	"strings"
	"testing"
)

func TestDemoRefusesWhatMakesNoSense(t *testing.T) {
	for want, args := range map[string][]string{
		"--claims: 5 is out of range 1 to 3, the number of servers":    {"demo", "--claims", "5"},
		`--output: "yaml" is neither text nor json`:                    {"demo", "-o", "yaml"},
		`--break: "bones" is not one of image, secret, password, disk`: {"demo", "--break", "bones"},
		`unexpected argument "everything": farrier demo takes none`:    {"demo", "everything"},
		"--servers": {"demo", "--servers", "many"},
	} {
		var stdout, stderr bytes.Buffer
		if code := Main(args, &stdout, &stderr); code != 2 {
			t.Errorf("farrier %s: exit code %d, want 2", strings.Join(args, " "), code)
		}
		if !strings.Contains(stderr.String(), want) || stdout.Len() > 0 {
			t.Errorf("farrier %s: says %q and prints %q; want it to say %s", strings.Join(args, " "), stderr.String(), stdout.String(), want)
		}
	}
}

package ignition

import (
	"strings"
	"testing"
)

// TestErrorsDoNotQuoteTheSecret: they are put into conditions, which more people read than the Secret.
func TestErrorsDoNotQuoteTheSecret(t *testing.T) {
	const word = "hunter2"
	const head = "variant: fcos\nversion: 1.5.0\n"
	for name, tc := range map[string]struct{ butane, says string }{
		"a value of a wrong type":  {head + "storage: " + word + "\n", "line 3"},
		"a value with a quote":     {head + "storage: \"`" + word + "`\"\n", "line 3"},
		"two values":               {head + "storage: " + word + "\npasswd: " + word + "\n", "line 3"},
		"a path":                   {head + "storage:\n  files:\n    - path: " + word + "\n", "path not absolute"},
		"a URL":                    {head + "storage:\n  files:\n    - path: /a\n      contents:\n        source: \"http://" + word + ":x/%zz\"\n", "source"},
		"an anchor nobody set":     {"a: *" + word + "\n", "unknown anchor"},
		"an anchor without an end": {"a: &" + word + " [*" + word + "]\n", "contains itself"},
	} {
		t.Run(name, func(t *testing.T) {
			_, warnings, err := Payload(FormatButane, []byte(tc.butane))
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("it says %v, not %q", err, tc.says)
			}
			if text := err.Error() + strings.Join(warnings, ""); strings.Contains(text, word) {
				t.Errorf("the secret is in %q", text)
			}
		})
	}
}

package ignition

import (
	"strings"
	"testing"
)

func TestWhatIsServedAsItIsIsLookedAt(t *testing.T) {
	for _, tc := range []struct {
		name, data string
		want       string // empty: nothing is said
	}{
		{"an Ignition configuration", `{"ignition":{"version":"3.4.0"}}`, ""},
		{"a newer one", `{"ignition":{"version":"3.99.0"}}`, ""},
		{"an old one", `{"ignition":{"version":"2.2.0"}}`, ""},
		{"cloud-init", "#cloud-config\nusers: []\n", ""},
		{"other JSON", `{"hostname":"a"}`, ""},
		{"nothing", "", ""},
		{"a field of a wrong type", `{"ignition":{"version":"3.4.0"},"passwd":{"users":"s3cret"}}`, "Ignition will refuse it"},
		{"an invalid path", `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"s3cret"}]}}`, "Ignition will refuse it"},
		{"an unknown key", `{"ignition":{"version":"3.4.0"},"systemdd":{}}`, "systemdd"},
		{"not JSON after all", `{"ignition": s3cret`, "Ignition will refuse it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			payload, warnings, err := Payload("", []byte(tc.data))
			if err != nil || string(payload) != tc.data {
				t.Errorf("payload %q, error %v", payload, err)
			}
			said := strings.Join(warnings, "; ")
			if (said == "") != (tc.want == "") || !strings.Contains(said, tc.want) || strings.Contains(said, "s3cret") {
				t.Errorf("said is %q, want …%s…", said, tc.want)
			}
		})
	}
}

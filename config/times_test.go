package config

import (
	"fmt"
	"testing"
	"time"
)

// TestTimesThatPassCanBeRead: the API server takes times for such that Go does not read, and one object that a client
// cannot decode keeps all others of its kind from it.
func TestTimesThatPassCanBeRead(t *testing.T) {
	crd := loadCRDs(t)["Assignment"]
	passed := 0
	for _, text := range []string{
		"2020-01-01T00:00:00Z", "2020-01-01T00:00:00.123456789+02:00", "9999-12-31T23:59:59-23:59", // as clients write them
		"2020-01-01t00:00:00z", "2020-01-01T00:00:00+99:99", "2020-01-01T00:00:00x5Z", "2020-01-01T00:00:00,5Z", "2020-02-30T00:00:00Z", "2020-01-01T24:00:00Z",
		"2020-01-01T00:00:60Z", "2020-01-01T00:00:00", "2020-01-01", "", "20200101T000000Z", "2020-01-01T00:00:00+24:00", "2020-01-01T00:00:00-00:60",
	} {
		object := fmt.Sprintf(`{spec: {profileName: a}, status: {conditions: [{type: A, reason: B, message: "", status: "True", lastTransitionTime: %q}]}}`, text)
		_, unreadable := time.Parse(time.RFC3339, text)
		if errs := admitManifest(t, crd, object, ""); len(errs) == 0 {
			passed++
			if unreadable != nil {
				t.Errorf("%q passes: %v", text, unreadable)
			}
		}
	}
	if passed < 3 {
		t.Errorf("%d pass, of three that clients write", passed)
	}
}

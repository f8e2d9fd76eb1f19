package bmc

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Ready says that each request carries the password, and why.
func TestReadySaysHowTheBMCIsSpokenTo(t *testing.T) {
	for why, says := range map[bmc.WhyBasic]string{
		"":                       "The BMC answers",
		bmc.BasicNoSessions:      "offers no sessions, so each request carries the password (Basic authentication)",
		bmc.BasicSessionsRefused: "refuses a session for this account, so each request",
		bmc.BasicNoToken:         "without a token, so each request",
	} {
		c := condition(fleet.Observation{Time: time.Unix(1, 0), Symptoms: bmc.Symptoms{Basic: why}}, nil, "s", connection.Candidate{Name: "b"})
		if c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, says) || (why == "") == strings.Contains(c.Message, "password") {
			t.Errorf("%q: %s: %s", why, c.Status, c.Message)
		}
	}
}

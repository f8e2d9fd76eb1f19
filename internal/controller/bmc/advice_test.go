package bmc

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/fleet"
)

func TestAdvice(t *testing.T) {
	for _, tc := range []struct {
		err    error
		reason string
		says   string
	}{
		{&bmc.Error{Kind: bmc.KindAuthentication, StatusCode: 401}, metalv1.ReasonAuthenticationFailed, `BMCSecret "s"`},
		{&bmc.Error{Kind: bmc.KindAuthentication, StatusCode: 401, MessageID: "AccountLocked"}, metalv1.ReasonAuthenticationFailed, "unlocks it"},
		{&bmc.Error{Kind: bmc.KindAuthentication, StatusCode: 403, MessageID: "PasswordChangeRequired"}, metalv1.ReasonAuthenticationFailed, "has expired"},
		{&bmc.Error{Kind: bmc.KindAuthentication, StatusCode: 403}, metalv1.ReasonAuthenticationFailed, "role Administrator"},
		{&bmc.Error{Kind: bmc.KindRejected, StatusCode: 403}, metalv1.ReasonAuthenticationFailed, "role Administrator"},
		{&bmc.Error{Kind: bmc.KindServer, StatusCode: 503, MessageID: "SessionLimitExceeded"}, metalv1.ReasonInternalServerError, "all sessions"},
		{&bmc.Error{Kind: bmc.KindRejected, StatusCode: 400, MessageID: "RAC0218"}, metalv1.ReasonUnknownError, "all sessions"},
		{&bmc.Error{Kind: bmc.KindServer, StatusCode: 503}, metalv1.ReasonInternalServerError, "Retry-After"},
		{&bmc.Error{Kind: bmc.KindServer, StatusCode: 429}, metalv1.ReasonInternalServerError, "Retry-After"},
		{&bmc.Error{Kind: bmc.KindServer, StatusCode: 500}, metalv1.ReasonInternalServerError, "internal error"},
		{&bmc.Error{Kind: bmc.KindTimeout}, metalv1.ReasonConnectionFailed, "hangs"},
		{&bmc.Error{Kind: bmc.KindConnection, Handshake: true, Message: "remote error: tls: internal error"}, metalv1.ReasonConnectionFailed, "--bmc-ca-file"},
		{&bmc.Error{Kind: bmc.KindUntrusted, Message: "x509: certificate signed by unknown authority"}, metalv1.ReasonUntrusted, "--insecure-skip-bmc-verify"},
		{&bmc.Error{Kind: bmc.KindUntrusted, Certificate: "AA:BB"}, metalv1.ReasonUntrusted, "--bmc-ca-file"},
		{&bmc.Error{Kind: bmc.KindUntrusted, Certificate: "AA:BB"}, metalv1.ReasonUntrusted, ", then: kubectl annotate bmc b farrier.dev/certificate=AA:BB"},
		{&bmc.Error{Kind: bmc.KindUntrusted, Certificate: "AA:BB", Accepted: bmc.AcceptCertificate(firstCertificate)}, metalv1.ReasonUntrusted, "kubectl annotate --overwrite bmc b farrier.dev/certificate=AA:BB"},
		{&bmc.Error{Kind: bmc.KindUntrusted, Certificate: "AA:BB", Accepted: bmc.AcceptCertificate("")}, metalv1.ReasonUntrusted, "The annotation farrier.dev/certificate is no SHA-256 fingerprint (32 pairs"},
		{&bmc.Error{Kind: bmc.KindConnection, Message: "connection refused"}, metalv1.ReasonConnectionFailed, "power and network"},
		{fmt.Errorf("inventory: %w", &bmc.Error{Kind: bmc.KindProtocol}), metalv1.ReasonUnknownError, "not from a working Redfish service"},
		{errors.New("of another kind"), metalv1.ReasonUnknownError, "of another kind"},
	} {
		c := condition(fleet.Observation{Err: tc.err}, nil, "s", connection.Candidate{Name: "b"})
		if c.Status != metav1.ConditionFalse || c.Reason != tc.reason || !strings.HasPrefix(c.Message, tc.err.Error()) || !strings.Contains(c.Message, tc.says) {
			t.Errorf("%v: %s: %s", tc.err, c.Reason, c.Message)
		}
	}
}

func TestDegraded(t *testing.T) {
	well := func() fleet.Observation {
		return fleet.Observation{Sequence: 1, Systems: []fleet.SystemObservation{{
			System: bmc.System{URI: "/s", UUID: uuid1, PowerState: bmc.PowerOff, Boot: bmc.BootState{Target: "None"}}, Seen: time.Unix(1, 0),
		}}}
	}
	had := []metav1.Condition{{Type: metalv1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: metalv1.ReasonClockSkewed}}
	for name, tc := range map[string]struct {
		spoil   func(*fleet.Observation)
		earlier []metav1.Condition
		reason  string
		says    string
	}{
		"nothing":         {spoil: func(*fleet.Observation) {}},
		"nothing more":    {func(*fleet.Observation) {}, had, metalv1.ReasonAsExpected, ""},
		"no answer":       {func(o *fleet.Observation) { o.Err = errors.New("hangs") }, had, metalv1.ReasonClockSkewed, ""},
		"not asked yet":   {spoil: func(o *fleet.Observation) { *o = fleet.Observation{} }},
		"not read yet":    {spoil: func(o *fleet.Observation) { o.Systems[0] = fleet.SystemObservation{} }},
		"UUID":            {func(o *fleet.Observation) { o.Systems[0].UUID = "" }, nil, metalv1.ReasonUUIDMissing, "/s"},
		"power":           {func(o *fleet.Observation) { o.Systems[0].PowerState = bmc.PowerUnknown }, nil, metalv1.ReasonPowerStateMissing, "/s"},
		"boot":            {func(o *fleet.Observation) { o.Systems[0].Boot = bmc.BootState{} }, nil, metalv1.ReasonNoBootOverride, "BootSourceOverrideTarget"},
		"no server":       {func(o *fleet.Observation) { o.Others = []string{"/part"} }, nil, metalv1.ReasonNoBootOverride, "/part"},
		"broken system":   {func(o *fleet.Observation) { o.Systems[0].Err = errors.New("500") }, nil, metalv1.ReasonSystemUnreadable, "/s cannot be read: 500"},
		"broken member":   {func(o *fleet.Observation) { o.Unread = errors.New("500") }, nil, metalv1.ReasonSystemUnreadable, "500"},
		"inventory":       {func(o *fleet.Observation) { o.Systems[0].Inventory = &bmc.Inventory{Missing: []string{"Storage"}} }, nil, metalv1.ReasonInventoryIncomplete, "Storage"},
		"sessions":        {func(o *fleet.Observation) { o.Symptoms.LosesSessions = true }, nil, metalv1.ReasonSessionsLost, "login"},
		"clock":           {func(o *fleet.Observation) { o.Symptoms.ClockSkew = -26 * time.Hour }, nil, metalv1.ReasonClockSkewed, "26h0m behind"},
		"clock ahead":     {func(o *fleet.Observation) { o.Symptoms.ClockSkew = 6 * time.Minute }, nil, metalv1.ReasonClockSkewed, "6m ahead"},
		"slow":            {func(o *fleet.Observation) { o.Symptoms.Slow = true }, nil, metalv1.ReasonSlowAnswers, "half"},
		"several at once": {func(o *fleet.Observation) { o.Symptoms.Slow, o.Systems[0].UUID = true, "" }, nil, metalv1.ReasonUUIDMissing, "half"},
	} {
		o := well()
		tc.spoil(&o)
		c := degradedCondition(tc.earlier, o)
		switch {
		case tc.reason == "":
			if c != nil {
				t.Errorf("%s: %+v", name, *c)
			}
		case c == nil, c.Reason != tc.reason, !strings.Contains(c.Message, tc.says), (c.Status == metav1.ConditionTrue) == (tc.reason == metalv1.ReasonAsExpected):
			t.Errorf("%s: %+v", name, c)
		}
	}
}

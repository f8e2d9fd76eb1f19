package scenario

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
)

func check(t *testing.T, got, want finding) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(finding{})); diff != "" {
		t.Errorf("finding (-want +got):\n%s", diff)
	}
}

func TestConnected(t *testing.T) {
	bmc := func(c []metav1.Condition) *metalv1.BMC { return &metalv1.BMC{Status: metalv1.BMCStatus{Conditions: c}} }
	unknown := &metalv1.Endpoint{Status: metalv1.EndpointStatus{
		Conditions: condition(conditionRecognised, metav1.ConditionFalse, "UnknownMACPrefix", "No entry fits"),
	}}
	for name, c := range map[string]struct {
		endpoint *metalv1.Endpoint
		bmc      *metalv1.BMC
		want     finding
	}{
		"nothing":      {nil, nil, waiting("not there yet")},
		"unrecognised": {unknown, nil, broken("UnknownMACPrefix: No entry fits")},
		"silent":       {nil, bmc(condition(metalv1.ConditionReady, metav1.ConditionUnknown, "NotObserved", "")), waiting("not heard of yet")},
		"refusing": {nil, bmc(condition(metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonAuthenticationFailed, "401")),
			broken("AuthenticationFailed: 401")},
		"connected": {unknown, bmc(condition(metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected, "")), done},
	} {
		t.Run(name, func(t *testing.T) { check(t, connected(c.endpoint, c.bmc), c.want) })
	}
}

func TestAvailable(t *testing.T) {
	server := func(state metalv1.ServerState, power metalv1.PowerState, change func(*metalv1.Server)) *metalv1.Server {
		s := newServer(state, power)
		if change != nil {
			change(s)
		}
		return s
	}
	says := func(kind, reason, message string) func(*metalv1.Server) {
		return func(s *metalv1.Server) {
			s.Status.Conditions = condition(kind, metav1.ConditionFalse, reason, message)
		}
	}
	for name, c := range map[string]struct {
		server *metalv1.Server
		want   finding
	}{
		"available":    {server(metalv1.ServerStateAvailable, metalv1.PowerStateOff, nil), done},
		"on":           {server(metalv1.ServerStateAvailable, metalv1.PowerStateOn, nil), waiting("Available, and its power is On")},
		"discovery":    {server(metalv1.ServerStateDiscovery, metalv1.PowerStateOn, nil), waiting("Discovery")},
		"being booted": {server(metalv1.ServerStateDiscovery, metalv1.PowerStateOn, says(metalv1.ConditionDiscovered, "Booting", "soon")), waiting("Discovery: Booting: soon")},
		"unreachable":  {server(metalv1.ServerStateDiscovery, metalv1.PowerStateOn, says(metalv1.ConditionReady, "BMCUnreachable", "hung up")), broken("BMCUnreachable: hung up")},
		"error":        {server(metalv1.ServerStateError, metalv1.PowerStateOff, says(metalv1.ConditionReady, "NotClean", "dirty")), broken("Error: NotClean: dirty")},
		"marked": {server(metalv1.ServerStateAvailable, metalv1.PowerStateOff, func(s *metalv1.Server) {
			s.Annotations = map[string]string{metalv1.AnnotationClaimedBy: "uid"}
		}), waiting("Available")},
	} {
		t.Run(name, func(t *testing.T) { check(t, available(c.server), c.want) })
	}
}

func TestBootable(t *testing.T) {
	claim := func(status metav1.ConditionStatus, reason, message string) *metalv1.ServerClaim {
		return &metalv1.ServerClaim{Status: metalv1.ServerClaimStatus{Conditions: condition(metalv1.ConditionBootReady, status, reason, message)}}
	}
	config := func(state metalv1.ServerBootConfigurationState) *metalv1.ServerBootConfiguration {
		return &metalv1.ServerBootConfiguration{Status: metalv1.ServerBootConfigurationStatus{State: state}}
	}
	for name, c := range map[string]struct {
		claim  *metalv1.ServerClaim
		config *metalv1.ServerBootConfiguration
		want   finding
	}{
		"gone":  {nil, nil, waiting("gone")},
		"early": {&metalv1.ServerClaim{}, nil, waiting("no boot configuration yet")},
		"ready": {claim(metav1.ConditionTrue, "BootConfigurationReady", ""), config(metalv1.ServerBootConfigurationStateReady), done},
		"pending": {claim(metav1.ConditionFalse, "BootConfigurationPending", "Waiting for the image"), config(metalv1.ServerBootConfigurationStatePending),
			waiting("BootConfigurationPending: Waiting for the image")},
		"error": {claim(metav1.ConditionFalse, "BootConfigurationError", "no initramfs layer"), config(metalv1.ServerBootConfigurationStateError),
			broken("BootConfigurationError: no initramfs layer")},
		// The claim learns of an error a moment after the boot configuration has it.
		"error not mirrored": {claim(metav1.ConditionTrue, "BootConfigurationReady", ""), config(metalv1.ServerBootConfigurationStateError),
			waiting("boot configuration Error")},
	} {
		t.Run(name, func(t *testing.T) { check(t, bootable(c.claim, c.config), c.want) })
	}
}

func TestMishap(t *testing.T) {
	for name, c := range map[string]struct {
		boot *sim.BootRecord
		want string
	}{
		"none":     {nil, ""},
		"begins":   {&sim.BootRecord{}, ""},
		"retries":  {&sim.BootRecord{Why: "probe: HTTP 503"}, "keeps trying to boot: probe: HTTP 503"},
		"failed":   {&sim.BootRecord{Outcome: sim.OutcomeFailed, Why: "iPXE: HTTP 404"}, "failed to boot: iPXE: HTTP 404"},
		"nothing":  {&sim.BootRecord{Outcome: sim.OutcomeFirmware, Why: "no disk"}, "booted nothing: no disk"},
		"finished": {&sim.BootRecord{Outcome: sim.OutcomeInstalled}, ""},
		"over":     {&sim.BootRecord{Outcome: sim.OutcomeFailed, Why: "x", End: noon}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mishap(c.boot); got != c.want {
				t.Errorf("mishap %q, want %q", got, c.want)
			}
		})
	}
}

func TestUnderWay(t *testing.T) {
	posted := sim.BootRecord{Start: noon, POST: noon.Add(time.Second)}
	fetching, failing := posted, posted
	fetching.Fetches = []sim.Fetch{{What: sim.WhatScript, Bytes: 10}, {What: sim.WhatKernel, Bytes: 2 << 20}}
	failing.Fetches = []sim.Fetch{{What: sim.WhatScript, Error: "HTTP 503"}}
	for want, boot := range map[string]sim.BootRecord{
		"self test":                {Start: noon},
		"booting from the network": posted,
		"got kernel, 2.0 MiB":      fetching,
		"script: HTTP 503":         failing,
		"running":                  {Outcome: sim.OutcomeInstalled},
		"probe has reported":       {Outcome: sim.OutcomeProbe},
		"iPXE: HTTP 404":           {Outcome: sim.OutcomeFailed, Why: "iPXE: HTTP 404"},
	} {
		if got := underWay(&boot); got != want {
			t.Errorf("under way: %q, want %q", got, want)
		}
	}
}

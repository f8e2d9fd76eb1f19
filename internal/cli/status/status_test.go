package status

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/cli/screen"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/overview"
	"github.com/farrier-dev/farrier/internal/printable"
	"github.com/farrier-dev/farrier/test/golden"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// condition is one that became so some time before noon.
func condition(kind string, status metav1.ConditionStatus, reason, message string, ago time.Duration) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(noon.Add(-ago))}
}

func server(name string, state metalv1.ServerState, power metalv1.PowerState, conditions ...metav1.Condition) metalv1.Server {
	s := metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))}}
	s.Status.State, s.Status.PowerState, s.Status.Conditions, s.Status.Model = state, power, conditions, "FX-2000"
	s.Spec.BMCRef = &metalv1.LocalObjectReference{Name: strings.TrimSuffix(name, "-system-0")}
	return s
}

func claimed(s metalv1.Server, name string) metalv1.Server {
	s.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "default", Name: name}
	s.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: "default", Name: name}
	return s
}

func claim(name string, conditions ...metav1.Condition) metalv1.ServerClaim {
	c := metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	c.Spec.Power, c.Spec.Image, c.Status.Conditions = metalv1.PowerOn, "a/b:c", conditions
	return c
}

// booted is the boot configuration of a machine that was switched on a minute ago, with conditions of that boot.
func booted(name string, conditions ...metav1.Condition) metalv1.ServerBootConfiguration {
	at := noon.Add(-time.Minute)
	b := metalv1.ServerBootConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	b.Annotations = map[string]string{metalv1.AnnotationBootAttempt: (&bootattempt.Attempt{ID: "1", Number: 1, Ordered: &at, Started: &at}).String()}
	b.Status.DeliveryAttempt, b.Status.BootStateAttempt, b.Status.Conditions = "1", "1", conditions
	return b
}

func failing(name, reason, message string) metalv1.BMC {
	b := metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: name}}
	b.Status.IP, b.Spec.BMCSecretRef.Name = "192.0.2.5", "factory"
	b.Status.Conditions = []metav1.Condition{condition(metalv1.ConditionReady, metav1.ConditionFalse, reason, message, time.Minute)}
	return b
}

func answering(name string) metalv1.BMC {
	b := metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: name}}
	b.Status.Conditions = []metav1.Condition{condition(metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected, "", time.Minute)}
	return b
}

// few are objects in which something of everything happens.
func few() *overview.Objects {
	yes, no := metav1.ConditionTrue, metav1.ConditionFalse
	onTime := condition("Late", no, "OnTime", "", time.Hour)
	racked := server("rack1-node1-system-0", metalv1.ServerStateAvailable, metalv1.PowerStateOff, condition(metalv1.ConditionClaimable, yes, "AvailableAndOff", "", 3*time.Hour), onTime)
	racked.Labels = map[string]string{metalv1.MetadataPrefix + "rack": "r1", "zone": "a"}
	cordoned := server("rack1-node2-system-0", metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	cordoned.Annotations = map[string]string{metalv1.MetadataPrefix + "rack": "r1"}
	cordoned.Spec.Unclaimable = true
	asked := server("node-3", metalv1.ServerStateCleanup, metalv1.PowerStateOn)
	asked.Annotations = map[string]string{metalv1.AnnotationOperation: metalv1.OperationPark}
	kept := server("node-4", metalv1.ServerStateMaintenance, metalv1.PowerStateOff)
	kept.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "default", Name: "swap-disk"}
	return &overview.Objects{
		Servers: []metalv1.Server{
			racked, cordoned, asked, kept,
			claimed(server("node-5", metalv1.ServerStateReserved, metalv1.PowerStateOn), "runs"),
			claimed(server("node-6", metalv1.ServerStateReserved, metalv1.PowerStateOn), "boots"),
			claimed(server("node-7", metalv1.ServerStateReserved, metalv1.PowerStateOff), "broken"),
			server("node-8", metalv1.ServerStateError, metalv1.PowerStateOff, condition(metalv1.ConditionCleaned, no, metalv1.ReasonCleanupFailed, "disk \x1b[2JS1: read-only", 26*time.Hour)),
			server("node-9", metalv1.ServerStateReserved, metalv1.PowerStateOn, condition(metalv1.ConditionReady, no, "BMCUnreachable", "connection refused", 40*time.Second)),
			server("node-10", metalv1.ServerStateDiscovery, metalv1.PowerStateOff, condition(metalv1.ConditionPoweringOn, yes, "Commanded", "", 5*time.Second)),
			server("node-11", "", ""),
			server("node-12", metalv1.ServerStateReserved, metalv1.PowerStateOn, condition(metalv1.ConditionPoweringOn, no, "Idle", "", time.Hour), condition("Late", yes, "LateInReserved", "A power command has no effect", time.Minute)),
		},
		Claims: []metalv1.ServerClaim{
			claim("runs"), claim("boots"), claim("broken", condition(metalv1.ConditionBootReady, no, "BootConfigurationError", "image a/b:c: 404", 2*time.Minute)),
			claim("waits", condition(metalv1.ConditionBound, no, metalv1.ReasonNoMatchingServer, "0 of 12 servers match", time.Minute)),
		},
		Boots: []metalv1.ServerBootConfiguration{
			booted("runs", condition(metalv1.ConditionIPXEScriptFetched, yes, "Fetched", "", 50*time.Second), condition(metalv1.ConditionBootStateReceived, yes, "Booted", "", 20*time.Second)),
			booted("boots", condition(metalv1.ConditionIPXEScriptFetched, yes, "Fetched", "", 50*time.Second)),
		},
		BMCs: []metalv1.BMC{
			answering("bmc-1"), answering("bmc-2"), failing("bmc-3", metalv1.ReasonAuthenticationFailed, "the BMC refuses\nthe credentials"), failing("bmc-4", metalv1.ReasonAuthenticationFailed, "the BMC refuses the credentials"),
			failing("bmc-5", metalv1.ReasonConnectionFailed, "dial tcp 192.0.2.5:443: connection refused"), {ObjectMeta: metav1.ObjectMeta{Name: "bmc-6"}},
		},
		Endpoints: []metalv1.Endpoint{{ObjectMeta: metav1.ObjectMeta{Name: "odd"}, Status: metalv1.EndpointStatus{Conditions: []metav1.Condition{condition("Recognised", no, "NoPrefix", "no prefix of 02:00:00", time.Minute)}}}},
	}
}

// many are 10,000 servers, of which a few are in trouble.
func many() *overview.Objects {
	o := &overview.Objects{}
	for i := range 10_000 {
		s := server(fmt.Sprintf("rack%03d-node%02d-system-0", i/40, i%40), metalv1.ServerStateAvailable, metalv1.PowerStateOff)
		switch {
		case i%2500 == 17:
			s.Status.State = metalv1.ServerStateError
		case i%3 == 0:
			s = claimed(s, fmt.Sprintf("tenant-%d", i))
			s.Status.State, s.Status.PowerState = metalv1.ServerStateReserved, metalv1.PowerStateOn
		}
		o.Servers = append(o.Servers, s)
		b := answering(s.Spec.BMCRef.Name)
		if i%100 == 3 {
			b = failing(b.Name, fmt.Sprintf("Reason%d", i%7), "it does not answer")
		}
		o.BMCs = append(o.BMCs, b)
	}
	return o
}

func TestPictures(t *testing.T) {
	unknown := overview.Of(few(), overview.Filter{}, noon)
	unknown.Unknown = make([]operator.UnknownMachine, 2)
	unknown.Missing = []string{"Endpoints: this user may not list\x1b them"}
	for name, c := range map[string]struct {
		fleet           *overview.Fleet
		columns, height int
		picture         Picture
	}{
		"few-80":      {overview.Of(few(), overview.Filter{}, noon), 80, Unlimited, Picture{}},
		"few-file":    {overview.Of(few(), overview.Filter{}, noon), Unlimited, Unlimited, Picture{}},
		"few-wide":    {overview.Of(few(), overview.Filter{}, noon), Unlimited, Unlimited, Picture{Wide: true}},
		"few-colours": {unknown, 100, 24, Picture{Paint: true}},
		"rack":        {overview.Of(few(), overview.Filter{Rack: "r1"}, noon), 80, Unlimited, Picture{}},
		"labels":      {overview.Of(few(), overview.Filter{Labels: labels.SelectorFromSet(labels.Set{"zone": "a"})}, noon), 80, Unlimited, Picture{}},
		"states":      {overview.Of(few(), overview.Filter{States: []string{"Error", "Cleanup"}}, noon), 80, Unlimited, Picture{}},
		"none":        {overview.Of(&overview.Objects{}, overview.Filter{}, noon), 80, 24, Picture{}},
		"many-80x24":  {overview.Of(many(), overview.Filter{}, noon), 80, 24, Picture{}},
		"many-limit":  {overview.Of(many(), overview.Filter{}, noon), 80, Unlimited, Picture{Rows: 10}},
	} {
		t.Run(name, func(t *testing.T) {
			c.picture.Now = noon
			text := strings.Join(c.picture.Lines(c.fleet, c.columns, c.height), "\n") + "\n"
			golden.Equal(t, filepath.Join("testdata", name+".txt"), strings.ReplaceAll(text, "\x1b", "␛"))
		})
	}
}

// TestPicturesFit is about all sizes: a line that is too long, or one too many, tears the picture.
func TestPicturesFit(t *testing.T) {
	fleets := []*overview.Fleet{overview.Of(few(), overview.Filter{}, noon), overview.Of(many(), overview.Filter{}, noon), overview.Of(&overview.Objects{}, overview.Filter{}, noon)}
	for columns := 20; columns <= 160; columns += 7 {
		for _, height := range []int{8, 12, 24, 50} {
			for _, fleet := range fleets {
				lines := Picture{Now: noon}.Lines(fleet, columns, height)
				if len(lines) > height-1 {
					t.Fatalf("%dx%d: %d lines", columns, height, len(lines))
				}
				for _, line := range lines {
					if screen.Width(line) > columns || line != printable.Line(line) {
						t.Fatalf("%dx%d: %q", columns, height, line)
					}
				}
			}
		}
	}
}

func TestJSON(t *testing.T) {
	text, err := json.MarshalIndent(overview.Of(few(), overview.Filter{}, noon), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, filepath.Join("testdata", "few.json"), string(text)+"\n")
}

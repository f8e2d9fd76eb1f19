package policyspec

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	"github.com/farrier-dev/farrier/internal/rollout"
)

func amount(text string) *intstr.IntOrString {
	a := intstr.Parse(text)
	return &a
}

func TestRead(t *testing.T) {
	p, err := Read(&farrierv1.RolloutPolicySpec{
		MaxUnavailable: farrierv1.MaxUnavailable{Fleet: amount("5%"), Rack: amount("1")},
		Waves:          []farrierv1.Wave{{UpTo: *amount("2"), Bake: "24h", Gates: []farrierv1.Gate{farrierv1.GateProbeBoot}}, {UpTo: *amount("10%")}},
		Windows:        []farrierv1.MaintenanceWindow{{Start: "0 22 * * 1-5", Duration: "6h", TimeZone: "Europe/Berlin"}},
		FailureLimit:   amount("3"), FailureLimits: []farrierv1.FailureLimit{{Reason: "MachineDidNotStart", Limit: 1}},
		ReturnTimeout: "30m", Paused: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.Fleet != rollout.Percent(5) || p.Rack != rollout.Count(1) || p.Zone.IsSet() || p.Failures != rollout.Count(3) || p.Classes["MachineDidNotStart"] != 1 {
		t.Errorf("amounts: %+v", p)
	}
	if len(p.Waves) != 2 || !reflect.DeepEqual(p.Waves[0], rollout.Wave{UpTo: rollout.Count(2), Bake: 24 * time.Hour, Gates: []rollout.Gate{rollout.ProbeBoot}}) || p.Waves[1].UpTo != rollout.Percent(10) {
		t.Errorf("waves: %+v", p.Waves)
	}
	if len(p.Windows) != 1 || p.Return != 30*time.Minute || p.Held != rollout.Paused {
		t.Errorf("%+v", p)
	}
	if p, err := Read(&farrierv1.RolloutPolicySpec{}); err != nil || p.Return != defaultReturnTimeout || p.Fleet.IsSet() || p.Held != "" {
		t.Errorf("of nothing: %+v, %v", p, err)
	}
}

// TestWhatCannotBeRead names the field.
func TestWhatCannotBeRead(t *testing.T) {
	window := farrierv1.MaintenanceWindow{Start: "0 22 * * *", Duration: "6h"}
	for field, spec := range map[string]farrierv1.RolloutPolicySpec{
		"spec.maxUnavailable.fleet": {MaxUnavailable: farrierv1.MaxUnavailable{Fleet: amount("0")}},
		"spec.maxUnavailable.zone":  {MaxUnavailable: farrierv1.MaxUnavailable{Zone: amount("101%")}},
		"spec.maxUnavailable.rack":  {MaxUnavailable: farrierv1.MaxUnavailable{Rack: amount("some")}},
		"spec.failureLimit":         {FailureLimit: amount("-1")},
		"spec.waves[1]":             {Waves: []farrierv1.Wave{{UpTo: *amount("1")}, {UpTo: *amount("0%")}}},
		"spec.waves[0]":             {Waves: []farrierv1.Wave{{UpTo: *amount("1"), Bake: "a day"}}},
		"spec.waves[2]":             {Waves: []farrierv1.Wave{{UpTo: *amount("1")}, {UpTo: *amount("2")}, {UpTo: *amount("3"), Gates: []farrierv1.Gate{"Luck"}}}},
		"spec.windows[1]":           {Windows: []farrierv1.MaintenanceWindow{window, {Start: "0 25 * * *", Duration: "6h"}}},
		"spec.windows[0]":           {Windows: []farrierv1.MaintenanceWindow{{Start: "0 22 * * *", Duration: "6h", TimeZone: "Europe/Nowhere"}}},
		"spec.windows[0].duration":  {Windows: []farrierv1.MaintenanceWindow{{Start: "0 22 * * *", Duration: "6 hours"}}},
		"spec.returnTimeout":        {ReturnTimeout: "soon"},
	} {
		_, err := Read(&spec)
		if of, ok := errors.AsType[*SpecError](err); !ok || of.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

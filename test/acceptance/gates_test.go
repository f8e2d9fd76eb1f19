package acceptance

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// TestALostBootOverrideStopsARollout after its canary: the machine gets the change and comes back, and no longer boots the probe. Only that says so. Once
// it boots again, the rollout goes on.
func TestALostBootOverrideStopsARollout(t *testing.T) {
	const servers = 4
	l := newLab(t, servers)
	p := l.up(t, "--discovery-timeout", "1m", "--discovery-retries", "0", "--bmc-poll-interval", "1s")
	l.discover(p)

	policy := &farrierv1.RolloutPolicy{ObjectMeta: objectMeta("", "careful")}
	policy.Spec.ReturnTimeout = "1m"
	policy.Spec.Waves = []farrierv1.Wave{{UpTo: intstr.FromInt32(1), Gates: []farrierv1.Gate{"Luck"}}}
	if err := p.Create(t.Context(), policy); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.waves[0].gates[0]") || !strings.Contains(err.Error(), `"ProbeBoot"`) {
		t.Fatalf("want a gate that nobody knows refused at its field, got %v", err)
	}
	policy.Spec.Waves[0].Gates = []farrierv1.Gate{farrierv1.GateHealth, farrierv1.GateProbeBoot}
	if err := p.Create(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	set := &metalv1.BIOSSettingsSet{ObjectMeta: objectMeta("", "quiet")}
	set.Annotations = map[string]string{metalv1.AnnotationRolloutPolicy: policy.Name}
	set.Spec.BIOSSettingsTemplate.Version = "2.4.1"
	set.Spec.BIOSSettingsTemplate.ServerMaintenancePolicy = metalv1.ServerMaintenancePolicyEnforced
	set.Spec.BIOSSettingsTemplate.SettingsFlow = []metalv1.SettingsFlowItem{{Name: "all", Priority: 1, Settings: map[string]string{"SystemProfile": "Quiet"}}}
	entry, err := l.InjectFault(fault.Spec{Kind: fault.OverrideIgnored, Share: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}

	p.rolloutIs(policy, "the canary is at its gate", func(r farrierv1.Rollout) bool {
		return r.Reason == "WaitingForGate" && strings.HasPrefix(r.Message, "ProbeBoot waits for ") && r.InProgress == 1 && r.Waiting == servers-1
	})
	r := p.rolloutIs(policy, "the canary has not passed", func(r farrierv1.Rollout) bool {
		return r.Reason == "GateNotPassed" && r.Failed == 1 && r.Waiting == servers-1 && strings.Contains(r.Message, "1 ProbeDidNotReport")
	})
	canary, quiet := "", 0
	var children metalv1.BIOSSettingsList
	if err := p.List(t.Context(), &children); err != nil {
		t.Fatal(err)
	}
	for i := range children.Items {
		if c := &children.Items[i]; c.Status.State == metalv1.BIOSSettingsStateApplied {
			canary = c.Spec.ServerRef.Name
			quiet++
		}
	}
	if quiet != 1 || r.Wave != 2 {
		t.Fatalf("%d servers have the settings: %+v", quiet, r)
	}
	p.serverSays(canary, metalv1.ConditionReady, metav1.ConditionFalse, "DiscoveryFailed")

	if err := l.ClearFault(entry.ID); err != nil {
		t.Fatal(err)
	}
	p.annotated(&metalv1.Server{ObjectMeta: objectMeta("", canary)}, metalv1.AnnotationOperation, metalv1.OperationRetry)
	p.rolloutIs(policy, "all have the settings", func(r farrierv1.Rollout) bool {
		return r.Reason == farrierv1.ReasonCompleted && r.Completed == servers
	})
	p.serverSays(canary, metalv1.ConditionHealthy, metav1.ConditionTrue, metalv1.ReasonHealthOK)
}

// rolloutIs waits until the only rollout of a policy stands as it should, and returns it.
func (p *running) rolloutIs(policy *farrierv1.RolloutPolicy, what string, right func(farrierv1.Rollout) bool) (r farrierv1.Rollout) {
	p.t.Helper()
	p.Eventually(what, func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(policy), policy); err != nil {
			return err
		}
		if len(policy.Status.Rollouts) != 1 || !right(policy.Status.Rollouts[0]) {
			return fmt.Errorf("%+v", policy.Status.Rollouts)
		}
		r = policy.Status.Rollouts[0]
		return nil
	})
	return r
}

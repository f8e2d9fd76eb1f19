package acceptance

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
	testlab "github.com/farrier-dev/farrier/test/lab"
)

// TestBIOSSettingsOfAClaimedServer: settings ask for a maintenance, the maintenance asks the owner, the owner
// agrees, the settings are applied, and the machine boots again what its claim says.
func TestBIOSSettingsOfAClaimedServer(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t)
	l.discover(p)
	rule := &metalv1.ServerReadinessRule{ObjectMeta: metav1.ObjectMeta{Name: "discovered"}}
	rule.Spec.Conditions = []metalv1.ReadinessCondition{{Type: "Burned", RequiredStatus: metav1.ConditionTrue}}
	rule.Spec.Taint = metalv1.Taint{Key: "example.org/not-burned-in"}
	rule.Spec.EnforcementMode = metalv1.ReadinessEnforcementModeContinuous
	if err := p.Create(t.Context(), rule); err != nil {
		t.Fatal(err)
	}
	server := l.BMCs()[0].Name + "-system-0"
	tainted := func(want int) {
		t.Helper()
		p.Eventually("taints of the rule", func(ctx context.Context) error {
			var s metalv1.Server
			if err := p.Get(ctx, client.ObjectKey{Name: server}, &s); err != nil {
				return err
			}
			if len(s.Spec.Taints) != want {
				return fmt.Errorf("taints %v, want %d", s.Spec.Taints, want)
			}
			return nil
		})
	}
	tainted(1)
	if err := p.Delete(t.Context(), rule); err != nil {
		t.Fatal(err)
	}
	tainted(0)

	l.ignition(p, "web", "ignition")
	l.claim(p, "web")
	name := p.bound("web")
	first := p.boots(l.machine(p, name), sim.OutcomeInstalled)

	settings := &metalv1.BIOSSettings{ObjectMeta: metav1.ObjectMeta{Name: "quiet"}}
	settings.Spec.ServerRef = &metalv1.LocalObjectReference{Name: name}
	settings.Spec.Version = "2.4.1"
	settings.Spec.ServerMaintenancePolicy = metalv1.ServerMaintenancePolicyOwnerApproval
	settings.Spec.SettingsFlow = []metalv1.SettingsFlowItem{{Name: "all", Priority: 1, Settings: map[string]string{"SystemProfile": "Quiet", "QuietBoot": "true"}}}
	if err := p.Create(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	claim := &metalv1.ServerClaim{}
	p.Eventually("the owner is asked", func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKey{Namespace: "default", Name: "web"}, claim); err != nil {
			return err
		}
		if _, asked := claim.Labels[metalv1.LabelMaintenanceNeeded]; !asked {
			return errors.New("the claim has no label " + metalv1.LabelMaintenanceNeeded)
		}
		return nil
	})
	p.serverIs(name, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	before := claim.DeepCopy()
	metav1.SetMetaDataLabel(&claim.ObjectMeta, metalv1.LabelMaintenanceApproved, "true")
	if err := p.Patch(t.Context(), claim, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	p.Eventually("applied", func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(settings), settings); err != nil {
			return err
		}
		if settings.Status.State != metalv1.BIOSSettingsStateApplied {
			return fmt.Errorf("state %s: %s", settings.Status.State, testlab.ConditionsText(settings.Status.Conditions))
		}
		return nil
	})
	p.Eventually("the maintenance has ended", func(ctx context.Context) error {
		err := p.Get(ctx, client.ObjectKey{Namespace: "farrier-system", Name: "bios-quiet"}, &metalv1.ServerMaintenance{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there still: %w", err)
		}
		return nil
	})
	p.serverIs(name, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	p.Eventually("what the claim says is booted again", func(context.Context) error {
		records := l.machine(p, name).Record()
		if last := records[len(records)-1]; last.Number == first.Number || last.Outcome != sim.OutcomeInstalled {
			return fmt.Errorf("boot %d came to %q", last.Number, last.Outcome)
		}
		return nil
	})
	if err := p.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil {
		t.Fatal(err)
	}
	if _, left := claim.Labels[metalv1.LabelMaintenanceApproved]; left {
		t.Error("the approval stands for whatever comes next")
	}
}

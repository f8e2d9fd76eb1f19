package acceptance

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim/fault"
	testlab "github.com/farrier-dev/farrier/test/lab"
)

// settingsOf are settings for a server without a claim.
func settingsOf(server string, values map[string]string) *metalv1.BIOSSettings {
	b := &metalv1.BIOSSettings{ObjectMeta: objectMeta("", "quiet")}
	b.Spec.ServerRef = &metalv1.LocalObjectReference{Name: server}
	b.Spec.Version = "2.4.1"
	b.Spec.ServerMaintenancePolicy = metalv1.ServerMaintenancePolicyEnforced
	b.Spec.SettingsFlow = []metalv1.SettingsFlowItem{{Name: "all", Priority: 1, Settings: values}}
	return b
}

// settingsAre waits for the state of settings, and for a word of why.
func (p *running) settingsAre(b *metalv1.BIOSSettings, state metalv1.BIOSSettingsState, word string) {
	p.t.Helper()
	p.Eventually("BIOSSettings "+b.Name, func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if text := testlab.ConditionsText(b.Status.Conditions); b.Status.State != state || !strings.Contains(text, word) {
			return fmt.Errorf("state %s, want %s with %q: %s", b.Status.State, state, word, text)
		}
		return nil
	})
}

// changeSettings changes settings, and returns what the API says to that.
func (p *running) changeSettings(b *metalv1.BIOSSettings, change func()) (err error) {
	p.t.Helper()
	p.Eventually("BIOSSettings "+b.Name+" is asked to change", func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		change()
		if err = p.Update(ctx, b); apierrors.IsConflict(err) {
			return err
		}
		return nil
	})
	return err
}

// TestBIOSSettingsThatFail: a BMC that refuses the settings is said, its server is given back, and a retry that is asked for
// applies them.
func TestBIOSSettingsThatFail(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t)
	l.discover(p)
	name := l.BMCs()[0].Name + "-system-0"
	entry, err := l.InjectFault(fault.Spec{Kind: fault.Forbidden, Share: 1, Path: "/Bios/Settings$"})
	if err != nil {
		t.Fatal(err)
	}
	b := settingsOf(name, map[string]string{"SystemProfile": "Quiet"})
	if err := p.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	p.settingsAre(b, metalv1.BIOSSettingsStateFailed, "WriteFailed")
	p.serverIs(name, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	if b.Status.FailedAttempts != 1 {
		t.Errorf("%d attempts failed", b.Status.FailedAttempts)
	}
	if err := l.ClearFault(entry.ID); err != nil {
		t.Fatal(err)
	}
	if err := p.changeSettings(b, func() {
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, metalv1.AnnotationOperation, metalv1.OperationRetry)
	}); err != nil {
		t.Fatal(err)
	}
	p.settingsAre(b, metalv1.BIOSSettingsStateApplied, "SettingsApplied")
	p.serverIs(name, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
}

// TestBIOSSettingsThatAreChangedInTheMiddle: the API refuses that, unless it is said to be meant; then what is asked for last is applied.
func TestBIOSSettingsThatAreChangedInTheMiddle(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t)
	l.discover(p)
	name := l.BMCs()[0].Name + "-system-0"
	entry, err := l.InjectFault(fault.Spec{Kind: fault.SlowPOST, Share: 1, Value: "1h"})
	if err != nil {
		t.Fatal(err)
	}
	b := settingsOf(name, map[string]string{"SystemProfile": "Quiet"})
	if err := p.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	p.settingsAre(b, metalv1.BIOSSettingsStateInProgress, "Starting the machine")
	balanced := func() { b.Spec.SettingsFlow[0].Settings["SystemProfile"] = "Balanced" }
	if err := p.changeSettings(b, balanced); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.settingsFlow") || !strings.Contains(err.Error(), metalv1.OperationAllowInProgressUpdate) {
		t.Fatalf("want it refused at spec.settingsFlow, got %v", err)
	}
	if err := l.ClearFault(entry.ID); err != nil {
		t.Fatal(err)
	}
	if err := p.changeSettings(b, func() {
		balanced()
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, metalv1.AnnotationOperation, metalv1.OperationAllowInProgressUpdate)
	}); err != nil {
		t.Fatal(err)
	}
	p.settingsAre(b, metalv1.BIOSSettingsStateApplied, "SettingsApplied")
	if b.Spec.SettingsFlow[0].Settings["SystemProfile"] != "Balanced" || b.Status.ObservedGeneration != b.Generation {
		t.Errorf("applied is %v of generation %d of %d", b.Spec.SettingsFlow, b.Status.ObservedGeneration, b.Generation)
	}
	p.Eventually("what allowed the change is gone", func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if operation, left := b.Annotations[metalv1.AnnotationOperation]; left {
			return fmt.Errorf("operation %q", operation)
		}
		return nil
	})
	p.serverIs(name, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
}

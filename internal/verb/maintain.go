package verb

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/overview"
	"github.com/farrier-dev/farrier/internal/printable"
)

// Maintaining is what a maintenance asks for.
type Maintaining struct {
	Reason string
	Policy metalv1.ServerMaintenancePolicy
	Power  metalv1.Power
	LED    metalv1.IndicatorLED
}

// maintenance is that of a server which `farrier maintain` makes and ends.
func (t Target) maintenance() *metalv1.ServerMaintenance {
	return &metalv1.ServerMaintenance{
		TypeMeta:   metav1.TypeMeta{APIVersion: metalv1.GroupVersion.String(), Kind: "ServerMaintenance"},
		ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, Name: "maintain-" + t.Server},
	}
}

// Maintain gives somebody a server to themselves, in its turn.
func Maintain(ctx context.Context, t Target, m Maintaining) ([]Order, error) {
	f, err := t.facts(ctx)
	if err != nil {
		return nil, err
	}
	wanted := t.maintenance()
	if f.Server != nil {
		wanted.Labels = sameInstallation(f.Server.Labels)
	}
	wanted.Spec = metalv1.ServerMaintenanceSpec{
		Policy: m.Policy, ServerRef: metalv1.LocalObjectReference{Name: t.Server}, ServerPower: m.Power, LocatorLED: m.LED,
	}
	if m.Reason != "" {
		wanted.Annotations = map[string]string{metalv1.AnnotationReason: m.Reason}
	}
	return []Order{{
		Kubectl: []string{kubectlCreate(wanted)},
		Write: func(ctx context.Context) error {
			if err := t.API.Create(ctx, wanted); err != nil {
				return fmt.Errorf("create ServerMaintenance %s/%s: %w", wanted.Namespace, wanted.Name, err)
			}
			return nil
		},
		Look: func(ctx context.Context) (bool, string, error) {
			now := t.maintenance()
			if err := t.API.Get(ctx, client.ObjectKeyFromObject(now), now); err != nil {
				return false, "", err
			}
			why := printable.Line(overview.Said(now.Status.Conditions, metalv1.ConditionInMaintenance, metav1.ConditionFalse))
			if now.Status.State == metalv1.ServerMaintenanceStateFailed {
				return false, "", fmt.Errorf("ServerMaintenance %s/%s: %s", now.Namespace, now.Name, why)
			}
			waits := "the maintenance waits"
			if why != "" {
				waits += ": " + why
			}
			return now.Status.State == metalv1.ServerMaintenanceStateInMaintenance, waits, nil
		},
		Done: func() string {
			return fmt.Sprintf("%s is in maintenance; farrier maintain --end %s -n %s ends it", t.Server, t.Server, t.Namespace)
		},
	}}, nil
}

// EndMaintenance ends what Maintain began.
func EndMaintenance(ctx context.Context, t Target) ([]Order, error) {
	m := t.maintenance()
	if err := t.API.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("--end: there is no ServerMaintenance %s/%s: kubectl get servermaintenance -A lists all", m.Namespace, m.Name)
		}
		return nil, err
	}
	return []Order{{
		Kubectl: []string{fmt.Sprintf("kubectl delete servermaintenance %s -n %s", m.Name, m.Namespace)},
		Write:   func(ctx context.Context) error { return client.IgnoreNotFound(t.API.Delete(ctx, m)) },
		Look: func(ctx context.Context) (bool, string, error) {
			err := t.API.Get(ctx, client.ObjectKeyFromObject(m), t.maintenance())
			if err != nil && !apierrors.IsNotFound(err) {
				return false, "", err
			}
			f, looked := t.facts(ctx)
			if looked != nil {
				return false, "", looked
			}
			ref := f.Server.Spec.ServerMaintenanceRef
			ours := ref != nil && ref.Namespace == m.Namespace && ref.Name == m.Name
			return apierrors.IsNotFound(err) && !ours, doing(f), nil
		},
		Done: func() string { return "the maintenance of " + t.Server + " has ended" },
	}}, nil
}

package verb

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/overview"
)

// Power switches the machine of a claim or of a maintenance: whoever has the server says what its power is to be.
func Power(ctx context.Context, t Target, want metalv1.Power) ([]Order, error) {
	f, err := t.facts(ctx)
	if err != nil {
		return nil, err
	}
	o := Order{Look: t.lookPower(want), Done: func() string { return "power is " + string(want) }}
	switch owner, field, err := owns(ctx, t.API, f); {
	case err != nil:
		return nil, err
	case owner != nil:
		fields := merge{"spec": merge{field: want}}
		o.Kubectl = []string{kubectlPatch(resourceOf(owner), owner, fields)}
		o.Write = func(ctx context.Context) error { return patch(ctx, t.API, owner, fields) }
		return []Order{o}, nil
	}
	return nil, refusePower(f, "power "+map[metalv1.Power]string{metalv1.PowerOn: "on", metalv1.PowerOff: "off"}[want])
}

// owns returns the object whose spec says what the power of a server is, and the field; nil: there is none.
func owns(ctx context.Context, api client.Client, f overview.Facts) (owner client.Object, field string, err error) {
	if f.Server == nil { // a claim that waits, or whose server this user may not see
		return f.Claim, "power", nil
	}
	switch state := f.Server.Status.State; {
	case state == metalv1.ServerStateMaintenance:
		if f.Server.Annotations[metalv1.AnnotationMaintainedBy] == "" || f.Server.Spec.ServerMaintenanceRef == nil {
			return nil, "", nil
		}
		ref := f.Server.Spec.ServerMaintenanceRef
		m := &metalv1.ServerMaintenance{}
		if err := api.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, m); err != nil {
			return nil, "", fmt.Errorf("maintenance %s/%s: %w", ref.Namespace, ref.Name, err)
		}
		return m, "serverPower", nil
	case state == metalv1.ServerStateReserved && f.Claim != nil && f.Claim.DeletionTimestamp.IsZero():
		return f.Claim, "power", nil
	}
	return nil, "", nil
}

func resourceOf(obj client.Object) string {
	if _, ok := obj.(*metalv1.ServerMaintenance); ok {
		return "servermaintenance"
	}
	return "serverclaim"
}

// refusePower says why the power of a server is nobody's to change, and what to do.
func refusePower(f overview.Facts, verb string) error {
	name := f.Server.Name
	switch f.Server.Status.State {
	case metalv1.ServerStateAvailable:
		return fmt.Errorf("%s: no claim has %s, and Farrier keeps a free server off: claim it (farrier claim NAME --server %s), or have it to yourself (farrier maintain %s --power On)", verb, name, name, name)
	case metalv1.ServerStateParked:
		return fmt.Errorf("%s: %s is parked, and Farrier leaves it alone: farrier unpark %s", verb, name, name)
	case metalv1.ServerStateMaintenance:
		return fmt.Errorf("%s: %s has a maintenance of another operator, and Farrier leaves it alone", verb, name)
	case metalv1.ServerStateReserved:
		return fmt.Errorf("%s: the claim of %s is gone, and Farrier switches it off", verb, name)
	}
	return fmt.Errorf("%s: %s is %s, where Farrier decides about its power: wait, or have it to yourself afterwards (farrier maintain %s)", verb, name, f.Server.Status.State, name)
}

// lookPower reports whether the BMC shows the power.
func (t Target) lookPower(want metalv1.Power) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		f, err := t.facts(ctx)
		if err != nil {
			return false, "", err
		}
		if f.Server == nil {
			return true, "", nil // it counts as soon as the claim has a server
		}
		if err := errors.Join(errorState(f), hopeless(f)); err != nil && want == metalv1.PowerOn {
			return false, "", err
		}
		return string(f.Server.Status.PowerState) == string(want), doing(f), nil
	}
}

// ForceOff switches a machine off without asking its operating system.
func ForceOff(ctx context.Context, t Target) ([]Order, error) {
	orders, err := Power(ctx, t, metalv1.PowerOff)
	if err != nil {
		return nil, err
	}
	forced, err := operate(ctx, t, metalv1.OperationForceOffServer)
	if err != nil {
		return nil, err
	}
	orders[0].Look = nil
	forced.Look, forced.Done = t.lookPower(metalv1.PowerOff), orders[0].Done
	return append(orders, forced), nil
}

// Reset sends an operation about power to the machine of a claim or of a maintenance.
func Reset(ctx context.Context, t Target, operation, verb string) ([]Order, error) {
	f, err := t.facts(ctx)
	if err != nil {
		return nil, err
	}
	if f.Server == nil {
		return nil, fmt.Errorf("%s: claim %s/%s has no server that this user may see", verb, t.Namespace, t.Claim)
	}
	owner, _, err := owns(ctx, t.API, f)
	switch {
	case err != nil:
		return nil, err
	case owner == nil && f.Server.Status.State != metalv1.ServerStateError:
		return nil, refusePower(f, verb)
	case f.Server.Status.PowerState != metalv1.PowerStateOn:
		return nil, fmt.Errorf("%s: the power of %s is %s: farrier power on %s", verb, f.Server.Name, f.Server.Status.PowerState, f.Server.Name)
	}
	o, err := operate(ctx, t, operation)
	return []Order{o}, err
}

package server

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/identity"
)

// conditionIdentified is only on servers whose BMC reports no UUID that identifies a machine, and whose probe reported none either, or
// another server's.
const conditionIdentified = "Identified"

// takenRepeat is how often it is looked whether a UUID is still another server's.
const takenRepeat = 10 * time.Minute

// gatherNamesake finds who else has the UUID that the probe told of a server without one.
func (r *Reconciler) gatherNamesake(ctx context.Context, v *View) error {
	if identity.MachineUUID(v.Server.Spec.SystemUUID) != "" || v.Told == "" {
		return nil
	}
	var list metalv1.ServerList
	if err := r.List(ctx, &list, client.MatchingFields{index.ServerByUUID: index.UUID(v.Told)}); err != nil {
		return fmt.Errorf("servers with system UUID %s: %w", v.Told, err)
	}
	for i := range list.Items {
		if list.Items[i].Name != v.Server.Name {
			v.Namesake = list.Items[i].Name
			return nil
		}
	}
	return nil
}

// identify gives a server whose BMC tells no UUID the one that its probe told: the token of the report proves
// whose it is. A UUID is never changed, and never given twice: by it machines are booted.
func (v *View) identify(p *Plan) {
	c := apimeta.FindStatusCondition(v.Server.Status.Conditions, conditionIdentified)
	refused := c != nil && c.Status == metav1.ConditionFalse
	switch told := v.Told; {
	case identity.MachineUUID(v.Server.Spec.SystemUUID) != "":
		if refused {
			p.condition(conditionIdentified, metav1.ConditionTrue, "Identified", "The system UUID is %s", v.Server.Spec.SystemUUID)
		}
	case told == "" && v.Inspected == "":
	case told == "":
		p.condition(conditionIdentified, metav1.ConditionTrue, "NoSystemUUID", "The machine reports no system UUID of its own, or a placeholder: its MAC addresses and serial number identify it")
	case v.Namesake != "":
		const reason = "SystemUUIDTaken"
		message := fmt.Sprintf("The machine says that its system UUID is %s, which Server %q has already. Two machines with one UUID are taken for each other when they boot: give one another UUID in its board settings", told, v.Namesake)
		p.condition(conditionIdentified, metav1.ConditionFalse, reason, "%s", message)
		p.after(v.Now, v.Now.Add(takenRepeat))
		if !refused && p.Event.Reason == "" {
			p.Event = Event{corev1.EventTypeWarning, reason, message}
		}
	default:
		p.alsoFacts(func(s *metalv1.Server) { s.Spec.SystemUUID = told })
	}
}

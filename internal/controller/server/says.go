package server

import (
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/trouble"
	"github.com/farrier-dev/farrier/internal/diagnosis"
	"github.com/farrier-dev/farrier/internal/identity"
)

// askedAgain is how often somebody looks whether a machine has done what it was late with, where that is no object's news.
const askedAgain = time.Minute

// sayTrouble has status say what `farrier why` would, and has the plan look again when a step of a boot will be overdue. What a BMC said before this
// process has asked it stands until it has answered.
func (r *Reconciler) sayTrouble(ctx context.Context, v *View, p *Plan) (trouble.News, error) {
	if v.System == nil && v.Unreachable == nil && !v.Missing {
		return trouble.News{}, nil
	}
	facts := &diagnosis.Facts{Now: v.Now, Asked: v.Server.Name, Server: v.Server, Claim: v.Claim, Config: v.Boot, OfProbe: v.BootInternal}
	if ref := v.Server.Spec.BMCRef; ref != nil {
		bmc := &metalv1.BMC{}
		switch err := r.Get(ctx, client.ObjectKey{Name: ref.Name}, bmc); {
		case err == nil:
			if apimeta.IsStatusConditionPresentAndEqual(bmc.Status.Conditions, metalv1.ConditionReady, metav1.ConditionUnknown) {
				return trouble.News{}, nil // it says soon what the server would say less exactly
			}
			facts.BMC = bmc
		case client.IgnoreNotFound(err) != nil:
			return trouble.News{}, fmt.Errorf("BMC of the server: %w", err)
		}
	}
	if r.Asked != nil && v.Boot != nil {
		facts.Boots = r.Asked(identity.MachineUUID(v.Server.Spec.SystemUUID))
	}
	wrong := diagnosis.Wrong(facts)
	if due := diagnosis.Overdue(facts); !due.IsZero() {
		p.after(v.Now, due)
	} else if wrong != nil && wrong.Missing != nil {
		p.after(v.Now, v.Now.Add(askedAgain))
	}
	return trouble.Say(v.Server, &v.Server.Status.Conditions, trouble.Of(wrong), v.Now), nil
}

// troubleOf is the typed cause of what is wrong with a BMC; empty: nothing is.
func troubleOf(bmc *metalv1.BMC) string {
	if wrong := diagnosis.Wrong(&diagnosis.Facts{BMC: bmc}); wrong != nil {
		return wrong.Reason
	}
	return ""
}

package server

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// usualPower is how long an order about power may be in trouble until its server is late.
const usualPower = 5 * time.Minute

// trouble is why the newest order about power, of that kind, has not come true; nil: it has, or it is too early to say. A BMC that is busy
// for some seconds is no news.
func (v *View) trouble(kind fleet.CommandKind) error {
	last := v.System.Command
	if last.Kind != kind || last.Trouble == nil || last.State == fleet.Succeeded || last.State == fleet.Superseded {
		return nil
	}
	if !last.State.Ended() && v.Now.Before(last.TroubleSince.Add(while)) {
		return nil
	}
	return last.Trouble
}

// awaitTrouble asks to be woken when there is trouble to tell.
func (v *View) awaitTrouble(p *Plan) {
	if v.System == nil || v.System.Command.Trouble == nil || v.System.Command.State.Ended() {
		return
	}
	if at := v.System.Command.TroubleSince.Add(while); v.Now.Before(at) {
		p.after(v.Now, at)
	}
}

// powerDue is when a server will be late because of an order about its power that does not come true; zero: there is none.
func (v *View) powerDue(ph phase) time.Time {
	if v.System == nil || ph.state == metalv1.ServerStateParked { // that is asked once
		return time.Time{}
	}
	last := v.System.Command
	if last.Kind == fleet.Reset || last.Trouble == nil || last.State == fleet.Succeeded || last.State == fleet.Superseded {
		return time.Time{}
	}
	return last.TroubleSince.Add(usualPower)
}

// explain says in words what is wrong with an order that has not come true: the BMC takes it and nothing follows, or does not take it.
func explain(err error, does string) string {
	if errors.Is(err, fleet.ErrNotObserved) {
		return fmt.Sprintf("the machine does not %s, or its BMC tells a power state that is not so; it is asked again: %v", does, err)
	}
	return fmt.Sprintf("the BMC does not carry the order to %s out, which is given again: %v", does, err)
}

// tellTrouble tells once, by an event and in the log, that an order about power does not come true. What the conditions said before
// decides whether that is news: each attempt would be, otherwise.
func (r *Reconciler) tellTrouble(v *View, before []metav1.Condition) {
	for _, kind := range []string{metalv1.ConditionPoweringOn, metalv1.ConditionWaitingForPowerOff} {
		is, was := apimeta.FindStatusCondition(v.Server.Status.Conditions, kind), apimeta.FindStatusCondition(before, kind)
		if is == nil || is.Reason != reasonCommandFailed || was != nil && was.Reason == reasonCommandFailed {
			continue
		}
		r.Recorder.Eventf(v.Server, nil, corev1.EventTypeWarning, reasonCommandFailed, reasonCommandFailed, "%s", is.Message)
		r.Logger.Info("An order about power does not come true", "server", v.Server.Name, "condition", kind, "cause", is.Message)
	}
}

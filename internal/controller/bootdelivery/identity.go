package bootdelivery

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/alarm"
	"github.com/farrier-dev/farrier/internal/ignition"
)

// boundTo is the value of the annotation of that name.
type boundTo struct {
	// Boot is the attempt, or what else is bound.
	Boot    string `json:"boot"`
	Address string `json:"address"`
	MAC     string `json:"mac,omitempty"`
}

// terms are what the boot server has to know of the attempt beside what it serves.
func (d *Delivery) terms(in *source) bootview.Terms {
	var t bootview.Terms
	if in.server != nil {
		t.Server = in.server.Name
	}
	switch {
	case in.server != nil && in.attempt.Open():
		if in.attempt.Started != nil {
			t.Seen = *in.attempt.Started
		}
		t.Repeats = d.remembers(in) && in.config.Annotations[metalv1.AnnotationBootPolicy] != string(metalv1.BootPolicyOnce)
		t.Inspected = d.remembers(in) || in.attempt.Clean != ""
		t.Bound = boundIn(in.config, in.attempt.ID)
		if d.BMCIdentity {
			t.BMCToken = ignition.BMCToken(d.TokenKey, string(in.server.UID), in.attempt.ID)
		}
	case in.config == nil && in.object.GetAnnotations()[metalv1.AnnotationFirstReader] == metalv1.AnnotationTrue:
		t.BindFirst = firstReaderOf(in.object)
		t.Bound = boundIn(in.object, t.BindFirst)
	}
	return t
}

// firstReaderOf names what is bound to its first reader: an edit begins anew.
func firstReaderOf(obj client.Object) string {
	return fmt.Sprintf("%s/%d", obj.GetUID(), obj.GetGeneration())
}

// remembers reports whether it is kept who boots by a boot configuration: a claim's machine may boot again long after. The probe's, which is
// the manager's own, is over when its boot is.
func (d *Delivery) remembers(in *source) bool {
	return in.config != nil && in.config.Annotations[metalv1.AnnotationType] != metalv1.TypeInternal
}

func boundIn(obj client.Object, boot string) bootview.Caller {
	var kept boundTo
	text := obj.GetAnnotations()[metalv1.AnnotationBoundTo]
	if text == "" || json.Unmarshal([]byte(text), &kept) != nil || kept.Boot != boot {
		return bootview.Caller{}
	}
	address, err := netip.ParseAddr(kept.Address)
	if err != nil {
		return bootview.Caller{}
	}
	return bootview.Caller{Addr: address, MAC: kept.MAC}
}

// keepBound writes down who boots, where that has to outlive this process.
func (r *reconciler) keepBound(ctx context.Context, in *source) error {
	boot, holder := in.open(), client.Object(in.config)
	switch {
	case in.config == nil:
		if boot, holder = r.terms(in).BindFirst, in.object; boot == "" {
			return nil
		}
	case boot == "" || !r.remembers(in) || in.ends():
		return nil
	}
	caller := r.View.Bound(in.name)
	if caller.IsZero() || caller == boundIn(holder, boot) {
		return nil
	}
	text, err := json.Marshal(boundTo{Boot: boot, Address: caller.Addr.String(), MAC: caller.MAC})
	if err != nil { // three strings can always be marshalled
		return err
	}
	changed := holder.DeepCopyObject().(client.Object)
	annotations := changed.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[metalv1.AnnotationBoundTo] = string(text)
	changed.SetAnnotations(annotations)
	patch := client.MergeFromWithOptions(holder, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, changed, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return fmt.Errorf("record the booting machine: %w", err)
	}
	holder.SetResourceVersion(changed.GetResourceVersion())
	holder.SetAnnotations(annotations)
	return nil
}

// Bind is told by a boot server elsewhere whom it has bound a boot to. The other boot servers of the site are told at once: until then, each of them
// would bind the boot to the first that asks it. What has to outlive this process is written down then.
func (d *Delivery) Bind(entry, session string, c bootview.Caller, proven bool) {
	if d.View.Bind(entry, session, c, proven) {
		d.notes.wake(entry)
	}
}

// Bound is told by the boot server of this process whom it has bound a boot to, for the boot servers elsewhere.
func (d *Delivery) Bound(entry, _ string, _ bootview.Caller, _ bool) { d.notes.wake(entry) }

// Alarmed is the boot server's callback for those who ask for what is another's.
func (d *Delivery) Alarmed(a bootview.Alarm) {
	if d.Alarms == nil {
		return
	}
	from := a.Caller.Addr.String()
	if a.Caller.MAC != "" {
		from += " (" + a.Caller.MAC + ")"
	}
	what := asked[a.What]
	if a.What.IsFile() {
		what = "asked for the image"
	}
	d.Alarms.Raise(a.Server, alarm.Alarm{
		Reason: alarm.ReasonStranger, Attempt: a.Attempt, At: a.Time,
		Message: fmt.Sprintf("%s %s in this machine's boot and was refused: %s", from, what, a.Why),
	})
}

// asked is what a stranger wanted. The files that firmware boots are all "the image".
var asked = map[bootview.DeliveryKind]string{
	bootview.DeliveredScript: "asked for the script", bootview.DeliveredIgnition: "asked for the ignition",
	bootview.ReceivedReport: "tried to send a report", bootview.ReceivedBootState: "tried to report a boot",
}

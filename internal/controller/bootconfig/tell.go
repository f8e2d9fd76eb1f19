package bootconfig

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/events"
)

// Reasons of events about boot configurations.
const (
	reasonCannotBoot = "BootConfigurationError"
	reasonCanBoot    = "BootConfigurationReady"
)

// tell makes events of a boot configuration that cannot be booted, and of one that could not and can now: on itself, and on the Server that
// is to boot it, which is where people look first. A boot that goes as it should makes none, nor does one that nobody asks for. Status lasts, so another process repeats
// nothing.
func (r *Reconciler) tell(ctx context.Context, v *view, before *metalv1.ServerBootConfiguration) {
	now, name := v.config, v.config.Namespace+"/"+v.config.Name
	failed, failing := before.Status.State == metalv1.ServerBootConfigurationStateError, now.Status.State == metalv1.ServerBootConfigurationStateError
	if failing && now.Spec.Image == "" {
		return
	}
	if failing {
		r.failed.Store(client.ObjectKeyFromObject(now), true)
	}
	switch {
	case failing && (!failed || events.Differ(ready(before), ready(now))):
		if !ofClaim(now) { // the claim's own controller says it too, of the claim
			log.FromContext(ctx).Info("boot configuration cannot be booted", "server", now.Spec.ServerRef.Name, "message", Problem(now))
		}
		r.event(now, corev1.EventTypeWarning, whyNot(now), Problem(now))
		if v.boots() {
			r.event(v.server, corev1.EventTypeWarning, reasonCannotBoot, fmt.Sprintf("Boot configuration %s: %s", name, Problem(now)))
		}
	case now.Status.State == metalv1.ServerBootConfigurationStateReady:
		if _, remembered := r.failed.LoadAndDelete(client.ObjectKeyFromObject(now)); !failed && !remembered {
			return
		}
		r.event(now, corev1.EventTypeNormal, reasonCanBoot, "The boot configuration is ready")
		if v.boots() {
			r.event(v.server, corev1.EventTypeNormal, reasonCanBoot, fmt.Sprintf("Boot configuration %s is ready", name))
		}
	}
}

func (r *Reconciler) event(about runtime.Object, kind, reason, note string) {
	events.Send(r.Recorder, about, nil, kind, reason, note)
}

func ready(config *metalv1.ServerBootConfiguration) *metav1.Condition {
	return apimeta.FindStatusCondition(config.Status.Conditions, metalv1.ConditionReady)
}

// whyNot is the reason why a boot configuration cannot be booted: the image's, where that is wrong.
func whyNot(config *metalv1.ServerBootConfiguration) string {
	image := apimeta.FindStatusCondition(config.Status.Conditions, metalv1.ConditionImageValidation)
	if image != nil && image.Status == metav1.ConditionFalse {
		return image.Reason
	}
	return reasonCannotBoot
}

// boots reports whether the Server is to boot this configuration now.
func (v *view) boots() bool {
	if v.server == nil {
		return false
	}
	for _, ref := range []*metalv1.ObjectReference{v.server.Spec.BootConfigurationRef, v.server.Spec.MaintenanceBootConfigurationRef} {
		if ref != nil && ref.Namespace == v.config.Namespace && ref.Name == v.config.Name {
			return true
		}
	}
	return false
}

// ofClaim reports whether a boot configuration was made for a claim.
func ofClaim(config *metalv1.ServerBootConfiguration) bool {
	owner := metav1.GetControllerOf(config)
	return owner != nil && owner.Kind == "ServerClaim"
}

package bootconfig

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/events"
)

// Boot servers without Kubernetes fetch and verify images themselves, over a network that the manager does not see. What they cannot fetch is said, and
// changes nothing else: the next attempt may succeed before the machine asks, and another boot server of the site may have the image.

const ownerPrefix = "ServerBootConfiguration/"

// owner is how Artifacts knows a boot configuration.
func owner(key client.ObjectKey) string { return ownerPrefix + key.String() }

// FetchChanged has the boot configuration of an owner looked at again: a boot server cannot fetch its image, or can again. It does not block.
func (r *Reconciler) FetchChanged(owner string) {
	name, ours := strings.CutPrefix(owner, ownerPrefix)
	if namespace, name, ok := strings.Cut(name, "/"); ours && ok {
		r.interest.source.Wake(namespace, name)
	}
}

// describeUnfetched says in status which boot servers cannot fetch the image, if there are any.
func (r *Reconciler) describeUnfetched(v *view) {
	sentence, status := "", &v.config.Status
	if r.Unfetched != nil {
		sentence = r.Unfetched(owner(client.ObjectKeyFromObject(v.config)))
	}
	if sentence == "" {
		apimeta.RemoveStatusCondition(&status.Conditions, metalv1.ConditionBootServerHasImage)
		return
	}
	apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: metalv1.ConditionBootServerHasImage, Status: metav1.ConditionFalse, Reason: metalv1.ReasonNotFetched, Message: sentence, ObservedGeneration: v.config.Generation,
	})
}

// tellUnfetched makes an event of an image that boot servers cannot fetch.
func (r *Reconciler) tellUnfetched(v *view, before *metalv1.ServerBootConfiguration) {
	is := apimeta.FindStatusCondition(v.config.Status.Conditions, metalv1.ConditionBootServerHasImage)
	if is != nil && events.Differ(apimeta.FindStatusCondition(before.Status.Conditions, is.Type), is) {
		r.event(v.config, corev1.EventTypeWarning, is.Reason, is.Message)
	}
}

package bootconfig

import (
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// locate finds out under which URL the server fetches images. A server of a site that is not configured is given the
// default URL: it may well lead there, and without any the machine would certainly not boot.
func (r *Reconciler) locate(v *view) {
	if v.server != nil {
		v.site = v.server.Labels[metalv1.LabelSite]
	}
	_, known := r.Sites.Name(v.site)
	v.elsewhere = !known
	v.bootURL = r.Sites.Of(v.site).Object()
	if r.ImageURL != "" {
		v.bootURL = r.ImageURL
	}
}

// describeSite says where a label and the flags do not fit, and nothing where they do.
func (v *view) describeSite(set func(kind string, s metav1.ConditionStatus, reason, message string)) {
	if !v.elsewhere {
		apimeta.RemoveStatusCondition(&v.config.Status.Conditions, metalv1.ConditionSiteKnown)
		return
	}
	set(metalv1.ConditionSiteKnown, metav1.ConditionFalse, metalv1.ReasonUnknownSite, fmt.Sprintf(
		"Server %q: metadata.labels[%s]: no boot URL is configured for the site %q (--boot-url), so the machine gets the default boot URL",
		v.server.Name, metalv1.LabelSite, v.site))
}

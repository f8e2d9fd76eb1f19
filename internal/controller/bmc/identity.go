package bmc

import (
	"context"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/bmcreset"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/identity"
)

// remember writes down which BMC is at this address, where spec does not say: other hardware that comes to the same
// address later is noticed then. With that it writes down that the BMC takes its default credentials. And it writes down whose command
// line it has over SSH, which has to be known when it does not answer, and that it can speak TLS. It reports whether it wrote, which wakes the BMC again.
func (r *Reconciler) remember(ctx context.Context, s *scope) (bool, error) {
	m := s.observation.Manager
	if m.URI == "" {
		return false, nil
	}
	before := s.obj.DeepCopy()
	if s.obj.Spec.BMCUUID == "" {
		s.obj.Spec.BMCUUID = m.UUID
		s.login.mark(s.obj, s.target.Secret)
	}
	if shown := shownMake(s.observation); shown != bmcreset.None {
		metav1.SetMetaDataAnnotation(&s.obj.ObjectMeta, metalv1.AnnotationMake, string(shown))
	}
	if s.target.Endpoint.Secure() {
		metav1.SetMetaDataAnnotation(&s.obj.ObjectMeta, metalv1.AnnotationKnownOver, knownOverHTTPS)
	}
	if before.Spec.BMCUUID == s.obj.Spec.BMCUUID && maps.Equal(before.Annotations, s.obj.Annotations) {
		return false, nil
	}
	if err := r.patch(ctx, s.obj, before); err != nil {
		return false, fmt.Errorf("record the identity of the BMC: %w", err)
	}
	return true, nil
}

// knownOverHTTPS is the value of AnnotationKnownOver: only that is worth remembering.
const knownOverHTTPS = "https"

// downgraded is why no password is sent to an endpoint: it would travel in clear text to a BMC that has shown that it can do better, and whoever
// changed the scheme may not be who may read the password.
func downgraded(obj *metalv1.BMC, to bmc.Endpoint) error {
	if to.Secure() || obj.Annotations[metalv1.AnnotationKnownOver] != knownOverHTTPS {
		return nil
	}
	return reconcileerror.Terminalf(metalv1.ReasonDowngraded, "spec.protocol.scheme: the BMC has answered over https, so Farrier does not send its password over http. "+
		"To allow it: kubectl annotate bmc %s %s-", obj.Name, metalv1.AnnotationKnownOver)
}

// another says that the BMC at the address is not the one that spec names, or has not said yet who it is. Its systems get
// no Servers of this object: where two BMCs have changed addresses, each machine would have two.
func another(obj *metalv1.BMC, m bmc.Manager) bool {
	uuid := identity.MachineUUID(obj.Spec.BMCUUID)
	return uuid != "" && (m.URI == "" || m.UUID != "" && m.UUID != uuid)
}

// identityCondition reports whether the BMC at this address is the one that spec means; nil if spec does
// not say. What spec.hostname is says nothing about that: it is the name that the BMC should have, and a new one has its maker's.
func identityCondition(obj *metalv1.BMC, m bmc.Manager) *metav1.Condition {
	no := func(reason, format string, args ...any) *metav1.Condition {
		return &metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	want := obj.Spec.BMCUUID
	uuid, err := identity.UUID(want)
	switch {
	case want == "":
		return nil
	case err != nil:
		return no(metalv1.ReasonUUIDDiffers, "spec.bmcUUID: %v", err)
	case identity.MachineUUID(uuid) == "":
		return nil // a placeholder: it names no BMC
	case uuid != m.UUID:
		return no(metalv1.ReasonUUIDDiffers, "spec.bmcUUID is %s, but the BMC reports %q", uuid, m.UUID)
	}
	return &metav1.Condition{Status: metav1.ConditionTrue, Reason: metalv1.ReasonMatches, Message: "The BMC matches spec"}
}

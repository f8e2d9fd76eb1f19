package admission

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
)

// biosVersion refuses a second BIOSVersion for one Server, and a change of one while its update is under way.
func biosVersion(ctx context.Context, c *check, now, before *metalv1.BIOSVersion) error {
	c.versionInProgress(now.Spec.VersionTemplate, before.Spec.VersionTemplate)
	target, was := referent(now.Spec.ServerRef), referent(before.Spec.ServerRef)
	if target == "" || target == was {
		return nil
	}
	others, err := holders(ctx, c, &metalv1.BIOSVersionList{}, index.BIOSVersionByServer, target, blank[metalv1.BIOSVersion], func(o *metalv1.BIOSVersion) bool {
		return referent(o.Spec.ServerRef) == target && o.DeletionTimestamp.IsZero()
	})
	if err != nil {
		return err
	}
	if c.refusedSecond(field.NewPath("spec", "serverRef"), target, others) {
		return nil
	}
	return c.knownServer(ctx, target, was)
}

// bmcVersion does so for BMCs.
func bmcVersion(ctx context.Context, c *check, now, before *metalv1.BMCVersion) error {
	c.versionInProgress(now.Spec.VersionTemplate, before.Spec.VersionTemplate)
	target, was := referent(now.Spec.BMCRef), referent(before.Spec.BMCRef)
	if target == "" || target == was {
		return nil
	}
	path := field.NewPath("spec", "bmcRef")
	others, err := holders(ctx, c, &metalv1.BMCVersionList{}, index.BMCVersionByBMC, target, blank[metalv1.BMCVersion], func(o *metalv1.BMCVersion) bool {
		return referent(o.Spec.BMCRef) == target && o.DeletionTimestamp.IsZero()
	})
	if err != nil {
		return err
	}
	if c.refusedSecond(path, target, others) {
		return nil
	}
	return c.knownBMC(ctx, path, target)
}

// refusedSecond refuses an object where others are for the same target.
func (c *check) refusedSecond(path *field.Path, target string, others []types.NamespacedName) bool {
	if len(others) == 0 {
		return false
	}
	c.refuse(field.Invalid(path, target, c.Kind.Kind+" \""+others[0].Name+"\" is for it already; change or delete that one"))
	return true
}

// versionInProgress refuses to change what an update is about while it is under way, unless the operation says that this is meant.
func (c *check) versionInProgress(now, before metalv1.VersionTemplate) {
	if !c.inProgress(c.Object, string(metalv1.VersionStateInProgress)) {
		return
	}
	spec, why := field.NewPath("spec"), "the update is under way; the annotation "+metalv1.AnnotationOperation+"="+metalv1.OperationAllowInProgressUpdate+" allows you to change it anyway"
	if now.Version != before.Version {
		c.refuse(field.Forbidden(spec.Child("version"), why))
	}
	if !equality.Semantic.DeepEqual(now.Image, before.Image) {
		c.refuse(field.Forbidden(spec.Child("image"), why))
	}
	if !equality.Semantic.DeepEqual(now.UpdatePolicy, before.UpdatePolicy) {
		c.refuse(field.Forbidden(spec.Child("updatePolicy"), why))
	}
}

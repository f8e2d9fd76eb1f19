package admission

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// maintenanceServer warns of a Server that does not exist, and refuses a boot configuration whose image our own delivery cannot read as
// a reference.
func maintenanceServer(ctx context.Context, c *check, now, before *metalv1.ServerMaintenance) error {
	if text := templateImage(now); text != "" && text != templateImage(before) && !c.ForeignBoot {
		if _, err := registry.ParseReference(text); err != nil {
			c.refuse(field.Invalid(field.NewPath("spec", "serverBootConfigurationTemplate", "spec", "image"), text, err.Error()))
		}
	}
	return c.knownServer(ctx, now.Spec.ServerRef.Name, before.Spec.ServerRef.Name)
}

func templateImage(m *metalv1.ServerMaintenance) string {
	if m.Spec.ServerBootConfigurationTemplate == nil {
		return ""
	}
	return m.Spec.ServerBootConfigurationTemplate.Spec.Image
}

// settingsServer warns of a Server that does not exist.
func settingsServer(ctx context.Context, c *check, now, before *metalv1.BIOSSettings) error {
	return c.knownServer(ctx, referent(now.Spec.ServerRef), referent(before.Spec.ServerRef))
}

func (c *check) knownServer(ctx context.Context, now, before string) error {
	if now == "" || now == before {
		return nil
	}
	missing, err := c.missed(ctx, types.NamespacedName{Name: now}, &metalv1.Server{})
	if err == nil && missing {
		c.warn(field.NewPath("spec", "serverRef"), "Server %q does not exist", now)
	}
	return err
}

// settingsNames warns of two parts of a flow with one name: the schema allows them, and the controller refuses to apply them.
func settingsNames(_ context.Context, c *check, now, before *metalv1.BIOSSettings) error {
	flowNames(c, field.NewPath("spec", "settingsFlow"), now.Spec.SettingsFlow, before.Spec.SettingsFlow)
	return nil
}

func flowNames(c *check, path *field.Path, now, before []metalv1.SettingsFlowItem) {
	if equality.Semantic.DeepEqual(now, before) {
		return
	}
	first := map[string]int{}
	for i, item := range now {
		if j, twice := first[item.Name]; twice {
			c.warn(path.Index(i).Child("name"), "%.64q is also the name of %s; no setting is applied until all names differ", item.Name, path.Index(j))
			return
		}
		first[item.Name] = i
	}
}

// settingsInProgress refuses to change what settings ask for while they are on their way to the BIOS, unless the operation says that this is
// meant: the part of the flow that is under way is broken off.
func settingsInProgress(_ context.Context, c *check, now, before *metalv1.BIOSSettings) error {
	if !c.inProgress(now, string(metalv1.BIOSSettingsStateInProgress)) {
		return nil
	}
	spec, why := field.NewPath("spec"), whileApplied
	if now.Spec.Version != before.Spec.Version {
		c.refuse(field.Forbidden(spec.Child("version"), why))
	}
	if !equality.Semantic.DeepEqual(now.Spec.SettingsFlow, before.Spec.SettingsFlow) {
		c.refuse(field.Forbidden(spec.Child("settingsFlow"), why))
	}
	return nil
}

// uniqueBMC refuses settings for a BMC that others are for, and warns of a BMC that does not exist.
func uniqueBMC(ctx context.Context, c *check, now, before *metalv1.BMCSettings) error {
	name := referent(now.Spec.BMCRef)
	if name == "" || name == referent(before.Spec.BMCRef) {
		return nil
	}
	path := field.NewPath("spec", "BMCRef")
	others, err := holders(ctx, c, &metalv1.BMCSettingsList{}, index.BMCSettingsByBMC, name, blank[metalv1.BMCSettings], func(o *metalv1.BMCSettings) bool {
		return referent(o.Spec.BMCRef) == name && o.DeletionTimestamp.IsZero()
	})
	if err != nil {
		return err
	}
	if len(others) > 0 {
		c.refuse(field.Invalid(path, name, fmt.Sprintf("BMCSettings %q is for the same BMC", others[0].Name)))
		return nil
	}
	return c.knownBMC(ctx, path, name)
}

// knownBMC warns of a BMC that does not exist.
func (c *check) knownBMC(ctx context.Context, path *field.Path, name string) error {
	missing, err := c.missed(ctx, types.NamespacedName{Name: name}, &metalv1.BMC{})
	if err == nil && missing {
		c.warn(path, "BMC %q does not exist", name)
	}
	return err
}

// bmcSettingsInProgress refuses to change what settings ask for while they are on their way to the BMC, unless the operation says that this
// is meant.
func bmcSettingsInProgress(_ context.Context, c *check, now, before *metalv1.BMCSettings) error {
	if !c.inProgress(now, string(metalv1.BMCSettingsStateInProgress)) {
		return nil
	}
	spec := field.NewPath("spec")
	for _, part := range []struct {
		name        string
		now, before any
	}{
		{"version", now.Spec.Version, before.Spec.Version},
		{"settings", now.Spec.SettingsMap, before.Spec.SettingsMap},
		{"variables", now.Spec.Variables, before.Spec.Variables},
	} {
		if !equality.Semantic.DeepEqual(part.now, part.before) {
			c.refuse(field.Forbidden(spec.Child(part.name), whileApplied))
		}
	}
	return nil
}

// whileApplied is why settings may not be changed.
const whileApplied = "the settings are being applied; the annotation " + metalv1.AnnotationOperation + "=" + metalv1.OperationAllowInProgressUpdate + " allows you to change them anyway"

// inProgress reports whether an object may not be changed, for what it asks for is being done. Status says it to people, and a rule is for
// people: the controller takes up whatever it finds.
func (c *check) inProgress(now client.Object, state string) bool {
	operation, _ := metalv1.OperationOf(now)
	if c.created() || operation == metalv1.OperationAllowInProgressUpdate {
		return false
	}
	is, _, _ := unstructured.NestedString(c.Old.Object, "status", "state")
	return is == state
}

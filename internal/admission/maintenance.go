package admission

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
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
	operation, _ := metalv1.OperationOf(now)
	if c.created() || operation == metalv1.OperationAllowInProgressUpdate {
		return nil
	}
	// Status says it to people, and a rule is for people: the controller takes up whatever it finds.
	if state, _, _ := unstructured.NestedString(c.Old.Object, "status", "state"); state != string(metalv1.BIOSSettingsStateInProgress) {
		return nil
	}
	spec, why := field.NewPath("spec"), "the settings are being applied; the annotation "+metalv1.AnnotationOperation+"="+metalv1.OperationAllowInProgressUpdate+" allows you to change them anyway"
	if now.Spec.Version != before.Spec.Version {
		c.refuse(field.Forbidden(spec.Child("version"), why))
	}
	if !equality.Semantic.DeepEqual(now.Spec.SettingsFlow, before.Spec.SettingsFlow) {
		c.refuse(field.Forbidden(spec.Child("settingsFlow"), why))
	}
	return nil
}

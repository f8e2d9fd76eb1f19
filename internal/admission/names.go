package admission

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

const (
	// referenceSuffix is what fields are called that name other objects, in all of our kinds.
	referenceSuffix = "Ref"
	// profileName is the one that is not called so: that of an Assignment.
	profileName = "profileName"
	// referenceDepth is how deep in a spec references are looked for; the deepest is spec.additionalContent[].webhook.mtls.secretRef.
	referenceDepth = 8
)

// references refuses names that no object can have, and warns of references without one. They come from anybody who may write an object of ours, and end up in the paths of requests:
// there they would be errors of whoever reads them, at every later time, and not of whoever wrote them, now.
func (c *check) references() {
	var before map[string]any
	if c.Old != nil {
		before = c.Old.Object
	}
	pullSecret := []string{"metadata", "annotations", metalv1.AnnotationImagePullSecret}
	value, _, _ := unstructured.NestedString(c.Object.Object, pullSecret...)
	if was, _, _ := unstructured.NestedString(before, pullSecret...); value != was {
		c.wellNamed(annotation(metalv1.AnnotationImagePullSecret), value, validation.IsDNS1123Subdomain)
	}
	c.referencesIn(field.NewPath("spec"), c.Object.Object["spec"], before["spec"], referenceDepth)
}

func (c *check) referencesIn(path *field.Path, now, before any, depth int) {
	if depth == 0 {
		return
	}
	switch now := now.(type) {
	case map[string]any:
		was, _ := before.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(now)) {
			if strings.HasSuffix(key, referenceSuffix) {
				c.reference(path.Child(key), now[key], was[key])
			}
			if name, ok := now[key].(string); ok && key == profileName && name != was[key] {
				c.wellNamed(path.Child(key), name, validation.IsDNS1123Subdomain)
			}
			c.referencesIn(path.Child(key), now[key], was[key], depth-1)
		}
	case []any:
		was, _ := before.([]any)
		for i := range now {
			var former any
			if i < len(was) {
				former = was[i]
			}
			c.referencesIn(path.Index(i), now[i], former, depth-1)
		}
	}
}

// reference judges the name and the namespace of one reference, as far as the request sets or changes them.
func (c *check) reference(path *field.Path, now, before any) {
	is, ok := now.(map[string]any)
	if !ok {
		return
	}
	was, had := before.(map[string]any)
	name, _ := is["name"].(string)
	former, _ := was["name"].(string)
	if name != former && !c.hasVariable(path, name) {
		c.wellNamed(path.Child("name"), name, validation.IsDNS1123Subdomain)
	}
	if name == "" && (!had || former != "") && !c.namelessAllowed(path.String()) {
		c.warn(path, "names nothing")
	}
	if namespace, ok := is["namespace"].(string); ok && namespace != was["namespace"] && !c.hasVariable(path, namespace) {
		c.wellNamed(path.Child("namespace"), namespace, validation.IsDNS1123Label)
	}
}

// namelessAllowed reports whether nobody is to be warned of a reference without a name: it is filled in from elsewhere, or a rule of its own says
// more. Of a Profile or an Assignment all rules are their own.
func (c *check) namelessAllowed(path string) bool {
	return path == "spec.serverBootConfigurationTemplate.spec.serverRef" || path == "spec.serverRef" && c.Kind == metal("ServerClaim") || c.Kind.Group == ipxev1.GroupName ||
		strings.HasSuffix(path, ".valueFrom.fieldRef") // a field of the object itself
}

// hasVariable reports whether a name in a variable of BMC settings contains another variable. Which name that makes only the controller knows.
func (c *check) hasVariable(path *field.Path, name string) bool {
	of := c.Kind == metal("BMCSettings") || c.Kind == metal("BMCSettingsSet")
	return of && strings.Contains(path.String(), ".variables[") && strings.Contains(name, "$(")
}

// wellNamed refuses a name that the judge finds fault with. No name at all is for the rules of the field.
func (c *check) wellNamed(path *field.Path, name string, judge func(string) []string) {
	if name == "" {
		return
	}
	if faults := judge(name); len(faults) > 0 {
		c.refuse(field.Invalid(path, name, strings.Join(faults, "; ")))
	}
}

package move

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// reference names a Secret or a ConfigMap.
type reference struct {
	kind kind
	name types.NamespacedName
}

// referring are the fields, at any depth of a spec, whose value names a Secret or ConfigMap. A namespace beside the name counts.
var referring = map[string]kind{
	"ignitionSecretRef": coreKinds[0], "userDataRef": coreKinds[0], "ipxeScriptSecretRef": coreKinds[0], "secretRef": coreKinds[0], "configMapRef": coreKinds[1],
	"secretKeyRef": coreKinds[0], "configMapKeyRef": coreKinds[1],
}

// flexible are those that can name any kind, in fields of their own.
var flexible = []string{"objectRef", "basicAuthRef", "mTLSRef"}

// references are the Secrets and ConfigMaps that an object names.
func references(o *object) (refs []reference) {
	if o.kind.core() {
		return nil
	}
	if spec, ok := o.Object["spec"].(map[string]any); ok {
		refs = below(refs, spec, o.GetNamespace())
	}
	annotations := o.GetAnnotations()
	if name := annotations[metalv1.AnnotationImagePullSecret]; name != "" && o.GetNamespace() != "" {
		refs = append(refs, reference{coreKinds[0], types.NamespacedName{Namespace: o.GetNamespace(), Name: name}})
	}
	if namespace, name, found := strings.Cut(annotations[metalv1.AnnotationSecret], "/"); found && namespace != "" && name != "" && !strings.Contains(name, "/") {
		refs = append(refs, reference{coreKinds[0], types.NamespacedName{Namespace: namespace, Name: name}})
	}
	return refs
}

func below(refs []reference, value any, namespace string) []reference {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			refs = below(refs, item, namespace)
		}
	case map[string]any:
		for key, item := range value {
			if ref, ok := named(key, item, namespace); ok {
				refs = append(refs, ref)
				continue
			}
			refs = below(refs, item, namespace)
		}
	}
	return refs
}

// named reads a reference.
func named(key string, value any, namespace string) (reference, bool) {
	fields, ok := value.(map[string]any)
	if !ok {
		return reference{}, false
	}
	kind, known := referring[key]
	for _, field := range flexible {
		if key == field && fields["group"] == nil {
			kind, known = coreOf(fields["resource"])
		}
	}
	name, _ := fields["name"].(string)
	if own, ok := fields["namespace"].(string); ok && own != "" {
		namespace = own
	}
	if !known || name == "" || namespace == "" || strings.Contains(namespace+name, "$(") { // a name with a variable is known when the object is there
		return reference{}, false
	}
	return reference{kind, types.NamespacedName{Namespace: namespace, Name: name}}, true
}

func coreOf(resource any) (kind, bool) {
	for _, k := range coreKinds {
		if k.resource == resource {
			return k, true
		}
	}
	return kind{}, false
}

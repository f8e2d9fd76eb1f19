package importer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// kinds are those of metal-operator and of boot-operator, which Farrier has under the same names.
var kinds = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(metalv1.AddToScheme(s))
	utilruntime.Must(bootv1.AddToScheme(s))
	return s
}()

// people is what people write of metadata. An API server sets everything else.
var people = []string{"name", "generateName", "namespace", "labels", "annotations"}

// lastApplied is where kubectl keeps what it applied to the API that the object comes from.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// take keeps an object as it is, but for what its API server and its controllers wrote.
func (r *Result) take(where string, gvk schema.GroupVersionKind, document []byte) error {
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(document); err != nil {
		return err
	}
	former, err := modern(obj)
	if err != nil {
		return err
	}
	typed, err := kinds.New(gvk)
	if err == nil {
		document, err = obj.MarshalJSON()
	}
	if err == nil {
		err = decode(document, typed)
	}
	if err == nil {
		err = rooted(typed, obj)
	}
	switch {
	case err != nil:
		return err
	case obj.GetName() == "" && obj.GetGenerateName() == "":
		return errors.New("metadata.name: required")
	case obj.GetDeletionTimestamp() != nil:
		return errors.New("metadata.deletionTimestamp: it is being deleted")
	}
	key := gvk.Kind + "/" + obj.GetNamespace() + "/" + obj.GetName()
	if other := r.taken[key]; other != "" && obj.GetName() != "" {
		return fmt.Errorf("metadata.name: %s is called %s too", other, named(obj))
	}
	r.taken[key] = where
	r.Objects = append(r.Objects, obj)
	kind, without := Taken, ""
	if lost := stripped(obj); len(lost) > 0 {
		without = ", without " + strings.Join(lost, ", ")
	}
	if len(former) > 0 {
		kind, without = Translated, ", from "+strings.Join(former, ", ")+without
	}
	r.note(kind, where, "%s %s%s", gvk.Kind, named(obj), without)
	return nil
}

// modern gives fields of boot configs the names that boot-operator has for them today, and returns the former ones.
func modern(obj *unstructured.Unstructured) (former []string, err error) {
	spec, ok := obj.Object["spec"].(map[string]any)
	if !ok || obj.GroupVersionKind().Group != bootv1.GroupVersion.Group {
		return nil, nil
	}
	for was, is := range map[string]string{"systemUuid": "systemUUID", "systemIP": "systemIPs"} {
		value, has := spec[was]
		if !has {
			continue
		}
		if _, both := spec[is]; both {
			return nil, fmt.Errorf("spec: both %s and %s are set", was, is)
		}
		delete(spec, was)
		if is == "systemIPs" {
			value = []any{value}
		}
		spec[is], former = value, append(former, was)
	}
	slices.Sort(former)
	return former, nil
}

// rooted refuses objects that mean something only in the API that they come from. A server that is there before its claim would be released and
// wiped, and boot configurations of claims are made anew.
func rooted(typed runtime.Object, obj *unstructured.Unstructured) error {
	switch o := typed.(type) {
	case *metalv1.Server:
		if ref := o.Spec.ServerClaimRef; ref != nil {
			return fmt.Errorf("spec.serverClaimRef: ServerClaim %s/%s has this server; change over in the API where both are", ref.Namespace, ref.Name)
		}
	case *metalv1.ServerClaim:
		// Whoever writes a claim may name a server, too.
		if ref := o.Spec.ServerRef; ref != nil && o.Status.Phase == metalv1.ServerClaimPhaseBound {
			return fmt.Errorf("spec.serverRef: it has Server %s; change over in the API where both are", ref.Name)
		}
	}
	_, isBoot := typed.(*metalv1.ServerBootConfiguration)
	isBoot = isBoot || obj.GroupVersionKind().Group == bootv1.GroupVersion.Group
	if owners := obj.GetOwnerReferences(); isBoot && len(owners) > 0 {
		return fmt.Errorf("metadata.ownerReferences: it is made of %s %s, and made anew with it", owners[0].Kind, owners[0].Name)
	}
	return nil
}

// stripped takes off what nobody writes, and names what of it somebody may look for.
func stripped(obj *unstructured.Unstructured) []string {
	var lost []string
	if status, ok := obj.Object["status"].(map[string]any); ok && len(status) > 0 {
		lost = append(lost, "status")
	}
	delete(obj.Object, "status")
	if meta, ok := obj.Object["metadata"].(map[string]any); ok {
		for _, field := range []string{"ownerReferences", "finalizers"} {
			if meta[field] != nil {
				lost = append(lost, field)
			}
		}
		maps.DeleteFunc(meta, func(field string, _ any) bool { return !slices.Contains(people, field) })
	}
	annotations := obj.GetAnnotations()
	delete(annotations, lastApplied)
	obj.SetAnnotations(annotations)
	return lost
}

// named is an object's name as people say it.
func named(obj *unstructured.Unstructured) string {
	name := obj.GetName()
	if name == "" {
		name = obj.GetGenerateName() + "*"
	}
	if namespace := obj.GetNamespace(); namespace != "" {
		return namespace + "/" + name
	}
	return name
}

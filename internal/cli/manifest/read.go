package manifest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/admission"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
)

// Manifest is what a file proposes, in its order.
type Manifest struct {
	Policies []*farrierv1.RolloutPolicy
	// Sets are in the Go types of their kinds.
	Sets []client.Object
	// Warnings are those that the API would answer with.
	Warnings []string
}

// kinds are those that are read. A file may have others, which are left out.
var kinds = map[schema.GroupVersionKind]func() client.Object{
	metalv1.GroupVersion.WithKind("BIOSSettingsSet"): func() client.Object { return &metalv1.BIOSSettingsSet{} },
	metalv1.GroupVersion.WithKind("BMCSettingsSet"):  func() client.Object { return &metalv1.BMCSettingsSet{} },
	metalv1.GroupVersion.WithKind("BIOSVersionSet"):  func() client.Object { return &metalv1.BIOSVersionSet{} },
	metalv1.GroupVersion.WithKind("BMCVersionSet"):   func() client.Object { return &metalv1.BMCVersionSet{} },
	farrierv1.GroupVersion.WithKind("RolloutPolicy"): func() client.Object { return &farrierv1.RolloutPolicy{} },
}

// Read reads a file. The API answers which RolloutPolicies there are beside those of the file. An error says which document and field it is about.
func Read(ctx context.Context, content []byte, api client.Reader) (*Manifest, error) {
	documents, err := split(content)
	if err != nil {
		return nil, err
	}
	known, err := readSchemas()
	if err != nil {
		return nil, err
	}
	r := &reader{schemas: known, api: api, at: map[client.Object]string{}, seen: map[string]string{}}
	for _, d := range documents {
		if err := r.add(ctx, d); err != nil {
			return nil, fmt.Errorf("%s: %w", d.at, err)
		}
	}
	if len(r.found.Sets) == 0 {
		return nil, errors.New("no BIOSSettingsSet, BMCSettingsSet, BIOSVersionSet or BMCVersionSet in it")
	}
	return &r.found, r.judge(ctx)
}

// reader reads the documents of one file.
type reader struct {
	schemas *schemas
	api     client.Reader
	found   Manifest
	// at says where an object stands, seen by kind and name where one stands that there can be one of.
	at   map[client.Object]string
	seen map[string]string
}

// add reads a document.
func (r *reader) add(ctx context.Context, d document) error {
	gvk := d.GroupVersionKind()
	empty, read := kinds[gvk]
	if !read {
		return r.other(gvk)
	}
	obj := empty()
	if err := decode(d.json, gvk, obj); err != nil {
		return fmt.Errorf("%s: %w", gvk.Kind, err)
	}
	name := obj.GetName()
	obj, err := r.check(ctx, gvk, d.json, obj)
	if err != nil {
		return fmt.Errorf("%s %.253q: %w", gvk.Kind, name, err)
	}
	key := gvk.Kind + "/" + name
	if first, twice := r.seen[key]; twice {
		return fmt.Errorf("%s %q: metadata.name: is also in %s", gvk.Kind, name, first)
	}
	r.seen[key], r.at[obj] = d.at, d.at
	if policy, ok := obj.(*farrierv1.RolloutPolicy); ok {
		r.found.Policies = append(r.found.Policies, policy)
	} else {
		r.found.Sets = append(r.found.Sets, obj)
	}
	return nil
}

// other refuses kinds that Farrier's groups do not have. What else there is of an installation may be in the file.
func (r *reader) other(gvk schema.GroupVersionKind) error {
	crd, is := r.schemas.crds[gvk.GroupKind()]
	switch {
	case !r.schemas.hasGroup(gvk.Group):
		return nil
	case !is:
		return fmt.Errorf("kind: %s has no %.64q", gvk.Group, gvk.Kind)
	}
	for _, version := range crd.Spec.Versions {
		if version.Name == gvk.Version {
			return nil
		}
	}
	return fmt.Errorf("apiVersion: %.128q has no %s", gvk.GroupVersion().String(), gvk.Kind)
}

// decode reads an object. Unknown fields are errors.
func decode(data []byte, gvk schema.GroupVersionKind, into client.Object) error {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(gvk, into)
	strict := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme, scheme, kjson.SerializerOptions{Strict: true})
	_, _, err := strict.Decode(data, &gvk, into)
	if problem, ok := runtime.AsStrictDecodingError(err); ok {
		return errors.Join(problem.Errors()...)
	}
	return err
}

// check judges an object by itself: its name and its schema. It returns the object with its defaults, and without what only a server writes.
func (r *reader) check(ctx context.Context, gvk schema.GroupVersionKind, data []byte, obj client.Object) (client.Object, error) {
	path := field.NewPath("metadata", "name")
	if obj.GetName() == "" {
		return nil, field.Required(path, "the plan is of objects with names")
	}
	if problems := validation.IsDNS1123Subdomain(obj.GetName()); len(problems) > 0 {
		return nil, field.Invalid(path, obj.GetName(), strings.Join(problems, "; "))
	}
	fields := &unstructured.Unstructured{}
	if err := fields.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	fields.Object["metadata"] = map[string]any{"name": obj.GetName()}
	delete(fields.Object, "status")
	refused, err := r.schemas.check(ctx, gvk, fields.Object)
	if err == nil {
		err = refused.ToAggregate()
	}
	if err != nil {
		return nil, err
	}
	fields.SetLabels(obj.GetLabels())
	fields.SetAnnotations(obj.GetAnnotations())
	to := kinds[gvk]()
	return to, runtime.DefaultUnstructuredConverter.FromUnstructured(fields.Object, to)
}

// judge runs the rules of admission, once it is known which RolloutPolicies the file has.
func (r *reader) judge(ctx context.Context) error {
	api := &withPolicies{Reader: r.api, policies: r.found.Policies}
	rules := &admission.Rules{Cached: api, Live: api}
	objects := make([]client.Object, 0, len(r.at))
	for _, p := range r.found.Policies {
		objects = append(objects, p)
	}
	for _, obj := range append(objects, r.found.Sets...) {
		gvk := obj.GetObjectKind().GroupVersionKind()
		where := fmt.Sprintf("%s: %s %q", r.at[obj], gvk.Kind, obj.GetName())
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		verdict, err := rules.Validate(ctx, admission.Request{Kind: gvk.GroupKind(), Name: obj.GetName(), Object: &unstructured.Unstructured{Object: content}, DryRun: true})
		if err == nil {
			err = verdict.Errors.ToAggregate()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if err := api.follows(ctx, obj); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		for _, warning := range verdict.Warnings {
			r.found.Warnings = append(r.found.Warnings, where+": "+warning)
		}
	}
	return nil
}

// withPolicies is an API that has the RolloutPolicies of a file too.
type withPolicies struct {
	client.Reader
	policies []*farrierv1.RolloutPolicy
}

// follows refuses a Set that names a RolloutPolicy which does not exist: there would be no plan.
func (w *withPolicies) follows(ctx context.Context, set client.Object) error {
	policy := rolloutpermit.PolicyOf(set, false)
	if policy == "" {
		return nil
	}
	err := w.Get(ctx, client.ObjectKey{Name: policy}, &farrierv1.RolloutPolicy{})
	if apierrors.IsNotFound(err) {
		return field.Invalid(field.NewPath("metadata", "annotations").Key(metalv1.AnnotationRolloutPolicy), policy, "RolloutPolicy does not exist, neither in the file nor in the API")
	}
	return err
}

// Get implements client.Reader.
func (w *withPolicies) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if policy, ok := into.(*farrierv1.RolloutPolicy); ok {
		for _, p := range w.policies {
			if p.Name == key.Name {
				p.DeepCopyInto(policy)
				return nil
			}
		}
	}
	return w.Reader.Get(ctx, key, into, options...)
}

package controllertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// statusField is the field of an object that is written apart from the rest.
const statusField = "Status"

func (a *API) patch(ctx context.Context, store client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
	if err := a.asked(Patch, obj); err != nil {
		return err
	}
	a.order.Lock()
	defer a.order.Unlock()
	var options client.PatchOptions
	options.ApplyOptions(opts)
	if resource, ok := a.merges(obj, p, options); ok {
		if err := a.merge(resource, obj, p, false); err != nil {
			return err
		}
		a.wrote(Patch, obj)
		return nil
	}
	return a.change(ctx, Patch, obj, func() error { return store.Patch(ctx, obj, p, opts...) })
}

func (a *API) patchStatus(ctx context.Context, _ client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	if err := a.asked(PatchStatus, obj); err != nil {
		return err
	}
	a.order.Lock()
	defer a.order.Unlock()
	var options client.SubResourcePatchOptions
	options.ApplyOptions(opts)
	resource, ok := a.merges(obj, p, options.PatchOptions)
	if ok && sub == "status" && options.SubResourceBody == nil && reflect.ValueOf(obj).Elem().FieldByName(statusField).IsValid() {
		if err := a.merge(resource, obj, p, true); err != nil {
			return err
		}
	} else if err := a.store.SubResource(sub).Patch(ctx, obj, p, opts...); err != nil {
		return err
	}
	a.wrote(PatchStatus, obj)
	return nil
}

// merges reports whether merge is for this patch, and where the object is stored. Who owns a field is not kept.
func (a *API) merges(obj client.Object, p client.Patch, options client.PatchOptions) (schema.GroupVersionResource, bool) {
	resource, typed := a.resource(obj)
	if typed && resource.Group == corev1.GroupName && reflect.ValueOf(obj).Elem().FieldByName(statusField).IsValid() {
		return resource, false // kinds of others may have rules of their own
	}
	plain := len(options.DryRun) == 0 && options.Force == nil && options.Raw == nil
	return resource, typed && plain && p.Type() == types.MergePatchType
}

// merge applies a merge patch (RFC 7386) to an object or to its status, as the fake client does, which makes JSON of both a dozen times, and raises
// the generation if that changed the content.
func (a *API) merge(resource schema.GroupVersionResource, obj client.Object, p client.Patch, status bool) error {
	found, err := a.stored.Get(resource, obj.GetNamespace(), obj.GetName())
	if err != nil {
		return err
	}
	old := found.(client.Object)
	next, err := patched(old, obj, p)
	if err != nil {
		return err
	}
	if !next.GetDeletionTimestamp().Equal(old.GetDeletionTimestamp()) {
		return errors.New("metadata.deletionTimestamp is immutable")
	}
	version := next.GetResourceVersion()
	from, to := reflect.ValueOf(old).Elem().FieldByName(statusField), reflect.ValueOf(next).Elem().FieldByName(statusField)
	switch {
	case status:
		whole := old.DeepCopyObject().(client.Object)
		reflect.ValueOf(whole).Elem().FieldByName(statusField).Set(to)
		next = whole
	case from.IsValid():
		to.Set(from)
	}
	if version != "" && version != old.GetResourceVersion() {
		return apierrors.NewConflict(resource.GroupResource(), obj.GetName(), errors.New("object was modified"))
	}
	count, err := strconv.ParseUint(old.GetResourceVersion(), 10, 64)
	if err != nil {
		return err
	}
	next.SetResourceVersion(strconv.FormatUint(count+1, 10))
	if !equality.Semantic.DeepEqual(typedContent(old), typedContent(next)) {
		next.SetGeneration(old.GetGeneration() + 1)
	}
	if !next.GetDeletionTimestamp().IsZero() && len(next.GetFinalizers()) == 0 {
		err = a.stored.Delete(resource, obj.GetNamespace(), obj.GetName(), metav1.DeleteOptions{})
	} else {
		err = a.stored.keep(resource, next)
	}
	if err == nil {
		show(obj, next)
	}
	return err
}

// patched is an object after a merge patch, as JSON keeps it.
func patched(old, obj client.Object, p client.Patch) (client.Object, error) {
	data, err := p.Data(obj)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	if text, err = merged(text, data); err != nil {
		return nil, err
	}
	next := reflect.New(reflect.TypeOf(old).Elem()).Interface().(client.Object)
	if err := json.Unmarshal(text, next); err != nil {
		return nil, err
	}
	if !bytes.Contains(text, []byte("{}")) && !bytes.Contains(text, []byte("[]")) {
		return next, nil
	}
	kept, err := asJSON(next) // what the patch has left empty may be what is not kept
	if err != nil {
		return nil, err
	}
	return kept.(client.Object), nil
}

// merged is a document after a merge patch, as RFC 7386 §2 has it.
func merged(document, patch json.RawMessage) (json.RawMessage, error) {
	if !bytes.HasPrefix(patch, []byte("{")) {
		return patch, nil
	}
	var changes map[string]json.RawMessage
	if err := json.Unmarshal(patch, &changes); err != nil {
		return nil, err
	}
	members := map[string]json.RawMessage{}
	if bytes.HasPrefix(document, []byte("{")) {
		if err := json.Unmarshal(document, &members); err != nil {
			return nil, err
		}
	}
	for name, change := range changes {
		if string(change) == "null" {
			delete(members, name)
			continue
		}
		var err error
		if members[name], err = merged(members[name], change); err != nil {
			return nil, err
		}
	}
	return json.Marshal(members)
}

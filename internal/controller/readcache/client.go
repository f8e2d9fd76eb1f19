package readcache

import (
	"context"
	"encoding/json"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/farrier-dev/farrier/internal/cache/bounded"
)

// maxWritten bounds how many written objects are kept until the caches show them, which takes milliseconds.
const maxWritten = 512

// Client returns c as a read-your-writes client: Get never returns an older version than was written through the client. Secrets and
// BMCSecrets that are written through it are kept by r; their metadata are read from the cache.
func (r *Reader) Client(c client.Client) client.Client {
	return &writer{Client: c, reader: r, written: written{bounded.NewCache[place, client.Object](maxWritten)}}
}

// Manager returns m with the client that Client makes of its own.
func (r *Reader) Manager(m manager.Manager) manager.Manager {
	return &withClient{Manager: m, client: r.Client(m.GetClient())}
}

type withClient struct {
	manager.Manager
	client client.Client
}

func (m *withClient) GetClient() client.Client { return m.client }

type writer struct {
	client.Client
	reader  *Reader
	written written
}

func (w *writer) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, metadata := obj.(*metav1.PartialObjectMetadata); metadata && !kindOf(obj).Empty() {
		return w.reader.metadata.Get(ctx, key, obj, opts...)
	}
	err := w.Client.Get(ctx, key, obj, opts...)
	if err == nil && len(opts) == 0 {
		w.written.renew(key, obj)
	}
	return err
}

// Status returns the writer of status.
func (w *writer) Status() client.SubResourceWriter {
	return &status{SubResourceWriter: w.Client.Status(), written: w.written}
}

func (w *writer) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	err := w.Client.Create(ctx, obj, opts...)
	w.wrote(obj, err, true)
	return err
}

func (w *writer) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	w.reader.forget(obj)
	err := w.Client.Update(ctx, obj, opts...)
	w.wrote(obj, err, true)
	return err
}

func (w *writer) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	whole := !kindOf(obj).Empty() && locked(obj, patch)
	w.reader.forget(obj)
	err := w.Client.Patch(ctx, obj, patch, opts...)
	w.wrote(obj, err, whole)
	return err
}

// wrote keeps the API's answer to a write, and drops an object that a failed write may have changed. whole reports whether obj has nothing
// that the object no longer has: an answer is decoded into what was written, which removes nothing.
func (w *writer) wrote(obj client.Object, err error, whole bool) {
	kind := kindOf(obj)
	_, metadata := obj.(*metav1.PartialObjectMetadata)
	switch {
	case kind.Empty() && err == nil:
		w.written.keep(obj)
	case kind.Empty():
	case err == nil && whole && !metadata:
		w.reader.keep(id{kind, client.ObjectKeyFromObject(obj)}, obj)
	default:
		w.reader.forget(obj)
	}
}

func (w *writer) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	w.reader.forget(obj)
	defer w.reader.forget(obj)
	return w.Client.Delete(ctx, obj, opts...)
}

// locked reports whether a patch has an optimistic lock: it changes the version that it was made of, or nothing.
func locked(obj client.Object, patch client.Patch) bool {
	var change struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	data, err := patch.Data(obj)
	return err == nil && json.Unmarshal(data, &change) == nil && change.Metadata.ResourceVersion != ""
}

// written holds what this process wrote, until its caches show it. A decision on what they showed before would
// repeat the write, or be refused for its version: under load that was every fourth write.
type written struct {
	last *bounded.Cache[place, client.Object]
}

// place identifies an object by Go type and key.
type place struct {
	of  reflect.Type
	key client.ObjectKey
}

func placeOf(obj client.Object) place {
	return place{reflect.TypeOf(obj), client.ObjectKeyFromObject(obj)}
}

// keep stores the API's answer to a write. Reader keeps Secrets and BMCSecrets.
func (w written) keep(obj client.Object) {
	if _, metadata := obj.(*metav1.PartialObjectMetadata); metadata || !kindOf(obj).Empty() || obj.GetResourceVersion() == "" {
		return
	}
	if copied, ok := obj.DeepCopyObject().(client.Object); ok {
		copied.SetManagedFields(nil)
		w.last.Add(placeOf(obj), copied)
	}
}

// renew replaces what a cache shows of an object by what was written since, if anything was. Get calls it only for what the cache
// has: what it lacks may have been deleted.
func (w written) renew(key client.ObjectKey, obj client.Object) {
	at := place{reflect.TypeOf(obj), key}
	newer, ok := w.last.Get(at)
	if !ok {
		return
	}
	if newer.GetUID() != obj.GetUID() || !older(obj, newer) {
		w.last.Remove(at) // the cache shows it, or another object
		return
	}
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(newer.DeepCopyObject()).Elem())
}

// status is the writer of status.
type status struct {
	client.SubResourceWriter
	written written
}

func (s *status) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	err := s.SubResourceWriter.Update(ctx, obj, opts...)
	if err == nil {
		s.written.keep(obj)
	}
	return err
}

func (s *status) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	err := s.SubResourceWriter.Patch(ctx, obj, patch, opts...)
	if err == nil {
		s.written.keep(obj)
	}
	return err
}

package reread

import (
	"context"
	"encoding/json"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// kept bounds how many are kept: as many as servers under way at a time have, three each, and not as many as there are. They are
// some 2 KiB each.
const kept = 8192

// keptWritten bounds how much of what was written is kept until caches have it, which takes them milliseconds.
const keptWritten = 256

var (
	secrets    = corev1.SchemeGroupVersion.WithKind("Secret")
	bmcSecrets = metalv1.GroupVersion.WithKind("BMCSecret")
)

// Reader reads past the caches, and Secrets and BMCSecrets only when they have changed.
type Reader struct {
	client.Reader // past the caches
	metadata      client.Reader
	last          *lru.Cache // id to client.Object
	keeping       sync.Mutex // the newest version is kept, whoever had it last
}

// New reads from live; metadata is a cache that has the metadata of all.
func New(live, metadata client.Reader) *Reader {
	return &Reader{Reader: live, metadata: metadata, last: lru.New(kept)}
}

// id names an object.
type id struct {
	kind schema.GroupVersionKind
	key  client.ObjectKey
}

// kindOf is the kind of what is kept; of anything else it is empty.
func kindOf(obj client.Object) schema.GroupVersionKind {
	switch o := obj.(type) {
	case *corev1.Secret:
		return secrets
	case *metalv1.BMCSecret:
		return bmcSecrets
	case *metav1.PartialObjectMetadata:
		if kind := o.GroupVersionKind(); kind == secrets || kind == bmcSecrets {
			return kind
		}
	}
	return schema.GroupVersionKind{}
}

// Get reads an object.
func (r *Reader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	kind := kindOf(obj)
	if _, metadata := obj.(*metav1.PartialObjectMetadata); kind.Empty() || metadata || len(opts) > 0 {
		return r.Reader.Get(ctx, key, obj, opts...)
	}
	if r.again(ctx, id{kind, key}, obj) {
		return nil
	}
	if err := r.Reader.Get(ctx, key, obj); err != nil {
		return err
	}
	r.keep(id{kind, key}, obj)
	return nil
}

// keep remembers a version of an object, unless a newer one is known.
func (r *Reader) keep(i id, obj client.Object) {
	copied, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return
	}
	copied.SetManagedFields(nil)
	if secret, ok := copied.(*corev1.Secret); ok {
		secret.StringData = nil // the API never answers with it: whoever wrote has left it there
	}
	r.keeping.Lock()
	defer r.keeping.Unlock()
	if found, ok := r.last.Get(i); ok {
		if known, ok := found.(client.Object); ok && known.GetUID() == obj.GetUID() && notBefore(known, obj) {
			return
		}
	}
	r.last.Add(i, copied)
}

// notBefore says that a is the version b of an object, or a later one.
func notBefore(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order >= 0
}

// again fills in what was read or written before, if the cache knows of nothing that is newer. What it knows nothing of may have
// been deleted.
func (r *Reader) again(ctx context.Context, i id, obj client.Object) bool {
	found, ok := r.last.Get(i)
	if !ok {
		return false
	}
	var now metav1.PartialObjectMetadata
	now.SetGroupVersionKind(i.kind)
	before, ok := found.(client.Object)
	if err := r.metadata.Get(ctx, i.key, &now); err != nil || !ok || now.UID != before.GetUID() || !notBefore(before, &now) {
		return false
	}
	switch o := before.(type) {
	case *corev1.Secret:
		o.DeepCopyInto(obj.(*corev1.Secret)) // of the kind that it is kept under
	case *metalv1.BMCSecret:
		o.DeepCopyInto(obj.(*metalv1.BMCSecret))
	}
	return true
}

// forget drops what is known of an object that is about to be written, and again when that has failed: it may have been written
// all the same.
func (r *Reader) forget(obj client.Object) {
	if kind := kindOf(obj); !kind.Empty() {
		r.last.Remove(id{kind, client.ObjectKeyFromObject(obj)})
	}
}

// Client is c whose writes r knows of, and which never reads what is older than what was written through it. The metadata
// of Secrets and BMCSecrets it reads from the cache.
func (r *Reader) Client(c client.Client) client.Client {
	return &writer{Client: c, reader: r, written: written{lru.New(keptWritten)}}
}

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

// Status writes status.
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

// wrote keeps what the API has answered to a write, and forgets what one may have changed that has failed. whole says that
// obj is all that there is of the object now: an answer is decoded into what was written, and nothing disappears by that.
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

// locked says that a patch changes the very version that it was made of, or nothing.
func locked(obj client.Object, patch client.Patch) bool {
	var change struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	data, err := patch.Data(obj)
	return err == nil && json.Unmarshal(data, &change) == nil && change.Metadata.ResourceVersion != ""
}

func (w *writer) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	w.reader.forget(obj)
	defer w.reader.forget(obj)
	return w.Client.Delete(ctx, obj, opts...)
}

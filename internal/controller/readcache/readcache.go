package readcache

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/cache/bounded"
)

// maxSecrets bounds how many Secrets and BMCSecrets are kept, of some 2 KiB each: three for each server that boots at a time, and not
// as many as there are.
const maxSecrets = 8192

var (
	secrets    = corev1.SchemeGroupVersion.WithKind("Secret")
	bmcSecrets = metalv1.GroupVersion.WithKind("BMCSecret")
)

// Reader reads past the caches; Secrets and BMCSecrets it reads once per version.
type Reader struct {
	client.Reader // past the caches
	metadata      client.Reader
	last          *bounded.Cache[id, client.Object]
	keeping       sync.Mutex // orders keep: the newest version stays
}

// New returns a Reader of live; metadata is a cache with the metadata of all Secrets and BMCSecrets.
func New(live, metadata client.Reader) *Reader {
	return &Reader{Reader: live, metadata: metadata, last: bounded.NewCache[id, client.Object](maxSecrets)}
}

// id identifies a Secret or BMCSecret.
type id struct {
	kind schema.GroupVersionKind
	key  client.ObjectKey
}

// kindOf returns the kind of a Secret or BMCSecret, or of its metadata; it is empty for any other object.
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

// Get reads an object. A Secret or BMCSecret whose version is known is not read again.
func (r *Reader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	kind := kindOf(obj)
	if _, metadata := obj.(*metav1.PartialObjectMetadata); kind.Empty() || metadata || len(opts) > 0 {
		return r.Reader.Get(ctx, key, obj, opts...)
	}
	if r.recall(ctx, id{kind, key}, obj) {
		return nil
	}
	if err := r.Reader.Get(ctx, key, obj); err != nil {
		return err
	}
	r.keep(id{kind, key}, obj)
	return nil
}

// keep stores a version of an object, unless a newer one is known.
func (r *Reader) keep(i id, obj client.Object) {
	copied, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return
	}
	copied.SetManagedFields(nil)
	if secret, ok := copied.(*corev1.Secret); ok {
		secret.StringData = nil // left there by the caller: the API never returns it
	}
	r.keeping.Lock()
	defer r.keeping.Unlock()
	if known, ok := r.last.Get(i); ok && known.GetUID() == obj.GetUID() && notBefore(known, obj) {
		return
	}
	r.last.Add(i, copied)
}

// notBefore reports whether a is version b of an object, or a later one. What cannot be compared is not.
func notBefore(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order >= 0
}

// older reports whether a is an older version of an object than b. What cannot be compared is not.
func older(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order < 0
}

// recall copies what was read or written before into obj, and reports whether it could: not where the metadata are newer, or missing, as
// those of a deleted object.
func (r *Reader) recall(ctx context.Context, i id, obj client.Object) bool {
	before, ok := r.last.Get(i)
	if !ok {
		return false
	}
	var now metav1.PartialObjectMetadata
	now.SetGroupVersionKind(i.kind)
	if err := r.metadata.Get(ctx, i.key, &now); err != nil || now.UID != before.GetUID() || !notBefore(before, &now) {
		return false
	}
	switch o := before.(type) {
	case *corev1.Secret:
		o.DeepCopyInto(obj.(*corev1.Secret)) // id has the kind of obj
	case *metalv1.BMCSecret:
		o.DeepCopyInto(obj.(*metalv1.BMCSecret))
	}
	return true
}

// forget drops an object. A writer calls it before the write, and again when the write fails: the API may have carried it
// out.
func (r *Reader) forget(obj client.Object) {
	if kind := kindOf(obj); !kind.Empty() {
		r.last.Remove(id{kind, client.ObjectKeyFromObject(obj)})
	}
}

package watchfilter

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Manager returns m with clients that know and make objects of the installation only. Its cache has to be restricted (Restrict).
func (f Filter) Manager(m manager.Manager) manager.Manager {
	live := m.GetAPIReader()
	return &filtered{Manager: m, client: f.Client(m.GetClient(), live), live: f.Reader(live)}
}

type filtered struct {
	manager.Manager
	client client.Client
	live   client.Reader
}

func (m *filtered) GetClient() client.Client    { return m.client }
func (m *filtered) GetAPIReader() client.Reader { return m.live }

// Reader returns r, for which an object of another installation does not exist.
func (f Filter) Reader(r client.Reader) client.Reader { return &reader{Reader: r, filter: f} }

type reader struct {
	client.Reader
	filter Filter
}

func (r *reader) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if err := r.Reader.Get(ctx, key, into, opts...); err != nil {
		return err
	}
	if isOurs(into) && !r.filter.Covers(into) {
		kind, _ := kindOf(into)
		return apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, key.Name)
	}
	return nil
}

func (r *reader) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	if !isOurs(into) {
		return r.Reader.List(ctx, into, opts...)
	}
	options := (&client.ListOptions{}).ApplyOptions(opts)
	selector := r.filter.Selector()
	if wanted := options.LabelSelector; wanted != nil {
		requirements, selectable := wanted.Requirements()
		if selector = selector.Add(requirements...); !selectable {
			selector = wanted // nothing
		}
	}
	options.LabelSelector = selector
	return r.Reader.List(ctx, into, options)
}

// Client returns c, which gives to the installation what it creates. live reads past the caches, and sees the objects of all installations.
func (f Filter) Client(c client.Client, live client.Reader) client.Client {
	return &creator{Client: c, live: live, filter: f}
}

type creator struct {
	client.Client
	live   client.Reader
	filter Filter
}

func (c *creator) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if c.marks(obj) {
		c.filter.Mark(obj)
	}
	err := c.Client.Create(ctx, obj, opts...)
	if !apierrors.IsAlreadyExists(err) || !isOurs(obj) {
		return err
	}
	return c.taken(ctx, obj, err)
}

// marks reports whether an object can have the label: an API server takes reviews without any.
func (c *creator) marks(obj client.Object) bool {
	switch obj.(type) {
	case *corev1.Secret, *corev1.ConfigMap:
		return true
	}
	return isOurs(obj)
}

// taken adds to an error to whom the name belongs, if that is another installation: this one cannot see the object.
func (c *creator) taken(ctx context.Context, obj client.Object, err error) error {
	kind, unknown := kindOf(obj)
	if unknown != nil {
		return err
	}
	other := &metav1.PartialObjectMetadata{}
	other.SetGroupVersionKind(kind)
	if c.live.Get(ctx, client.ObjectKeyFromObject(obj), other) != nil || c.filter.Covers(other) {
		return err
	}
	if value, labelled := other.Labels[metalv1.LabelWatchFilter]; labelled {
		return fmt.Errorf("%w, and belongs to another installation of Farrier: its label %s is %q", err, metalv1.LabelWatchFilter, value)
	}
	return fmt.Errorf("%w, and belongs to another installation of Farrier: it has no label %s", err, metalv1.LabelWatchFilter)
}

package move

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/listing"
)

// object is an original.
type object struct {
	*unstructured.Unstructured
	kind kind
	// stays: a person made it, and others than Farrier may need it. It is copied, and not deleted.
	stays bool
}

func (o *object) String() string {
	name := o.GetName()
	if ns := o.GetNamespace(); ns != "" {
		name = ns + "/" + name
	}
	return o.kind.Kind + " " + name
}

type objectID struct {
	kind string
	name types.NamespacedName
}

func (o *object) id() objectID { return objectID{o.kind.String(), client.ObjectKeyFromObject(o)} }

// ending reports whether somebody has deleted it, and a finalizer of a controller keeps it.
func (o *object) ending() bool { return o.GetDeletionTimestamp() != nil }

// snapshot is what moves, in the order in which it is made at the target.
type snapshot struct {
	objects []*object
	// missing are references to Secrets and ConfigMaps that do not exist.
	missing []string
}

// moving are the objects that do not stay at the source.
func (s *snapshot) moving() (objects []*object) {
	for _, o := range s.objects {
		if !o.stays {
			objects = append(objects, o)
		}
	}
	return objects
}

// read reads what is at the source.
func (m *mover) read(ctx context.Context) (*snapshot, error) {
	var found []*object
	for _, k := range m.kinds {
		if k.core() {
			continue
		}
		objects, err := list(ctx, m.Source, k)
		if err != nil {
			return nil, err
		}
		found = append(found, objects...)
	}
	made, err := m.made(ctx, found)
	if err != nil {
		return nil, err
	}
	found = append(found, made...)
	s := &snapshot{}
	if err := m.readNamed(ctx, s, found); err != nil {
		return nil, err
	}
	s.objects = sorted(append(found, s.objects...))
	return s, nil
}

// made are the Secrets and ConfigMaps that Farrier made: records, what the probe boots with, credentials in the place of others, and what belongs to an object
// that moves.
func (m *mover) made(ctx context.Context, owners []*object) (made []*object, err error) {
	uids := map[types.UID]bool{}
	for _, o := range owners {
		uids[o.GetUID()] = true
	}
	for _, k := range coreKinds {
		objects, err := list(ctx, m.Source, k)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if owned(o, uids) || o.GetNamespace() == m.Namespace && madeByFarrier(o) {
				made = append(made, o)
			}
		}
	}
	return made, nil
}

func owned(o *object, owners map[types.UID]bool) bool {
	return slices.ContainsFunc(uidsOfOwners(o), func(uid types.UID) bool { return owners[uid] })
}

func uidsOfOwners(o *object) (uids []types.UID) {
	for _, ref := range o.GetOwnerReferences() {
		uids = append(uids, ref.UID)
	}
	return uids
}

func madeByFarrier(o *object) bool {
	annotations := o.GetAnnotations()
	return o.GetLabels()[machinerecord.Label] != "" || annotations[metalv1.AnnotationType] == metalv1.TypeInternal || annotations[metalv1.AnnotationCredentialsOf] != ""
}

// readNamed adds the Secrets and ConfigMaps that objects name and that are not among them.
func (m *mover) readNamed(ctx context.Context, s *snapshot, from []*object) error {
	known := map[objectID]bool{}
	for _, o := range from {
		known[o.id()] = true
	}
	for _, o := range from {
		for _, ref := range references(o) {
			id := objectID{ref.kind.String(), ref.name}
			if known[id] {
				continue
			}
			known[id] = true
			named := &object{Unstructured: &unstructured.Unstructured{}, kind: ref.kind, stays: true}
			named.SetGroupVersionKind(ref.kind.GroupVersionKind)
			err := m.Source.Get(ctx, ref.name, named.Unstructured)
			if apierrors.IsNotFound(err) {
				s.missing = append(s.missing, fmt.Sprintf("%s %s, which %s names", ref.kind.Kind, ref.name, o))
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: read %s %s: %w", m.Source.Name, ref.kind.Kind, ref.name, err)
			}
			s.objects = append(s.objects, named)
		}
	}
	return nil
}

// list reads all objects of a kind, the oldest first.
func list(ctx context.Context, side Side, k kind) ([]*object, error) {
	var l unstructured.UnstructuredList
	l.SetGroupVersionKind(k.GroupVersion().WithKind(k.Kind + "List"))
	found, err := listing.All[*unstructured.Unstructured](ctx, side, &l)
	if err != nil {
		return nil, fmt.Errorf("%s: list %s: %w", side.Name, k, err)
	}
	objects := make([]*object, 0, len(found))
	for _, one := range found {
		one.SetGroupVersionKind(k.GroupVersionKind)
		objects = append(objects, &object{Unstructured: one, kind: k})
	}
	slices.SortFunc(objects, byAge)
	return objects, nil
}

// byAge orders objects of a kind as they came: the older of two claims and of two Assignments has precedence, at the target as well.
func byAge(a, b *object) int {
	at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if c := at.Compare(bt.Time); c != 0 {
		return c
	}
	if c := admitted(a).Compare(admitted(b)); c != 0 {
		return c
	}
	return strings.Compare(a.id().name.String(), b.id().name.String())
}

// admitted is when admission let an object in, where it says so.
func admitted(o *object) time.Time {
	at, err := time.Parse(time.RFC3339Nano, o.GetAnnotations()[ipxev1.AnnotationAdmitted])
	if err != nil {
		return time.Time{}
	}
	return at
}

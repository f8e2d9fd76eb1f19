package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// conflictsTold is how many conflicts an error names.
const conflictsTold = 10

// copies are what is at the target, by kind and name.
type copies map[objectID]*object

// readCopies reads what is at the target: of all kinds, for an original that is still there may mention one that is gone.
func (m *mover) readCopies(ctx context.Context) (copies, error) {
	found := copies{}
	for _, k := range m.kinds {
		objects, err := list(ctx, m.Target, k)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			found[o.id()] = o
		}
	}
	return found, nil
}

// known are the UIDs of the copies that a move has made.
func (c copies) known() uids {
	known := uids{}
	for _, o := range c {
		if from := o.GetAnnotations()[AnnotationMovedFrom]; from != "" {
			known[types.UID(from)] = o.GetUID()
		}
	}
	return known
}

// begun reports whether anything has been copied.
func (m *mover) begun(ctx context.Context) (bool, error) {
	if m.copied {
		return true, nil
	}
	for _, k := range m.kinds {
		objects, err := list(ctx, m.Target, k)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(objects, func(o *object) bool { return o.GetAnnotations()[AnnotationMovedFrom] != "" }) {
			return true, nil
		}
	}
	return false, nil
}

// checkConflicts refuses a target that has something else under a name that is needed.
func (m *mover) checkConflicts(ctx context.Context) error {
	s, err := m.read(ctx)
	if err != nil {
		return err
	}
	there, err := m.readCopies(ctx)
	if err != nil {
		return err
	}
	known := there.known()
	var conflicts []string
	for _, o := range s.objects {
		w, err := wanted(o, known, o.GetGeneration())
		if err != nil {
			return err
		}
		have := there[w.id()]
		if have == nil || !o.stays && ours(have, o) {
			continue
		}
		if field := mismatch(w, have); field != "" {
			conflicts = append(conflicts, fmt.Sprintf("%s (%s differs)", w, field))
		}
	}
	for _, name := range namespaces(s) {
		if _, differs, err := m.namespace(ctx, name); err != nil {
			return err
		} else if differs != "" {
			conflicts = append(conflicts, fmt.Sprintf("Namespace %s (%s differs)", name, differs))
		}
	}
	if n := len(conflicts); n > 0 {
		more := ""
		if n > conflictsTold {
			conflicts, more = conflicts[:conflictsTold], fmt.Sprintf(" and %d more", n-conflictsTold)
		}
		return fmt.Errorf("%s: has other objects of these names: %s%s", m.Target.Name, strings.Join(conflicts, ", "), more)
	}
	return nil
}

// ours reports whether an object at the target is the copy of an original.
func ours(have, original *object) bool {
	return have.GetAnnotations()[AnnotationMovedFrom] == string(original.GetUID())
}

// copyAll makes the target have everything of a snapshot, and verifies it.
func (m *mover) copyAll(ctx context.Context, s *snapshot) error {
	for _, name := range namespaces(s) {
		if err := m.copyNamespace(ctx, name); err != nil {
			return err
		}
	}
	there, err := m.readCopies(ctx)
	if err != nil {
		return err
	}
	known := there.known()
	made := 0
	for _, o := range s.objects {
		n, err := m.make(ctx, o, there, known)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", m.Target.Name, o, err)
		}
		made += n
	}
	// Now that every UID is known: what mentions one of a later object, status, and who wrote what.
	for _, o := range s.objects {
		if err := m.settle(ctx, o, there, known); err != nil {
			return fmt.Errorf("%s: %s: %w", m.Target.Name, o, err)
		}
	}
	m.Say("copied %d objects", made)
	return m.verify(ctx, s)
}

// make creates a copy that does not exist. One that exists and is the same becomes the copy.
func (m *mover) make(ctx context.Context, o *object, there copies, known uids) (made int, err error) {
	if vanishes(o) {
		return 0, nil
	}
	w, err := wanted(o, known, 1)
	if err != nil {
		return 0, err
	}
	have := there[w.id()]
	if have != nil {
		if o.stays || ours(have, o) {
			return 0, nil
		}
		if field := mismatch(w, have); field != "" {
			return 0, fmt.Errorf("another object has this name: %s differs", field)
		}
		annotate(have, AnnotationMovedFrom, string(o.GetUID()))
		annotate(have, annotationFound, "true")
		err = m.Target.Update(ctx, have.Unstructured, client.FieldOwner(fieldOwner))
	} else {
		have = &object{Unstructured: &unstructured.Unstructured{Object: content(w)}, kind: o.kind}
		if o.kind.status {
			delete(have.Object, "status")
		}
		err = m.Target.Create(ctx, have.Unstructured, client.FieldOwner(fieldOwner))
		made = 1
	}
	if err != nil {
		return 0, err
	}
	there[w.id()] = have
	if !o.stays {
		known[o.GetUID()] = have.GetUID()
	}
	return made, nil
}

// vanishes reports whether somebody has deleted an object that nothing keeps any more: the garbage collector is about to remove it.
func vanishes(o *object) bool { return o.ending() && len(finalizers(o)) == 0 }

// settle makes a copy what is wanted, with its status and its field owners, and deletes it where its original has been deleted.
func (m *mover) settle(ctx context.Context, o *object, there copies, known uids) error {
	if o.stays || vanishes(o) {
		return nil
	}
	have := &object{Unstructured: there.of(o, known).DeepCopy(), kind: o.kind}
	w, err := wanted(o, known, have.GetGeneration())
	if err != nil {
		return err
	}
	if m.copied {
		// Its original may have lost its finalizers already.
		w.SetFinalizers(have.GetFinalizers())
	}
	if err := m.settleStatus(ctx, w, have); err != nil {
		return err
	}
	if difference(w, have) != "" || !sameManagers(o, have) {
		replace(w, have)
		w.SetManagedFields(o.GetManagedFields())
		if err := m.Target.Update(ctx, w.Unstructured, client.FieldOwner(fieldOwner)); err != nil {
			return err
		}
	}
	if o.ending() && have.GetDeletionTimestamp() == nil {
		return client.IgnoreNotFound(m.Target.Delete(ctx, have.Unstructured, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	}
	return nil
}

// replace has an object take the place of another: what its API has filled in stays, and so does its status, which is written apart.
func replace(w, have *object) {
	w.SetUID(have.GetUID())
	w.SetResourceVersion(have.GetResourceVersion())
	w.SetGeneration(have.GetGeneration())
	w.SetCreationTimestamp(have.GetCreationTimestamp())
	w.SetDeletionTimestamp(have.GetDeletionTimestamp())
	if found := have.GetAnnotations()[annotationFound]; found != "" {
		annotate(w, annotationFound, found)
	}
	if status, has := have.Object["status"]; has && w.kind.status {
		w.Object["status"] = status
	}
}

// settleStatus writes the status of a copy, and reads back what has become of it.
func (m *mover) settleStatus(ctx context.Context, w, have *object) error {
	status := w.Object["status"]
	if !w.kind.status || status == nil || lacking(".status", status, have.Object["status"]) == "" {
		return nil
	}
	have.Object["status"] = status
	return m.Target.Status().Update(ctx, have.Unstructured, client.FieldOwner(fieldOwner))
}

// sameManagers reports whether the same field managers own the copy: an original that nobody owns leaves no more to say.
func sameManagers(o, have *object) bool {
	names := func(o *object) (names []string) {
		for _, entry := range o.GetManagedFields() {
			names = append(names, entry.Manager+"/"+string(entry.Operation)+"/"+entry.Subresource)
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	return len(o.GetManagedFields()) == 0 || slices.Equal(names(o), names(have))
}

// of finds the copy of an original, whose name may have changed with a UID in it.
func (c copies) of(o *object, known uids) *object {
	w, err := wanted(o, known, 0)
	if err != nil {
		return nil
	}
	return c[w.id()]
}

// verify reads everything at the target once more.
func (m *mover) verify(ctx context.Context, s *snapshot) error {
	there, err := m.readCopies(ctx)
	if err != nil {
		return err
	}
	known := there.known()
	for _, o := range s.objects {
		if vanishes(o) {
			continue
		}
		have := there.of(o, known)
		if have == nil {
			return fmt.Errorf("%s: %s: the copy is gone; somebody acts there", m.Target.Name, o)
		}
		w, err := wanted(o, known, have.GetGeneration())
		if err != nil {
			return err
		}
		if m.copied {
			w.SetFinalizers(nil)
		}
		if field := difference(w, have); field != "" {
			return fmt.Errorf("%s: %s: the copy differs in %s; the CRDs there are others, or somebody acts there", m.Target.Name, o, field)
		}
		if o.ending() && !have.ending() {
			return fmt.Errorf("%s: %s: deleted at the source, and not here", m.Target.Name, o)
		}
	}
	m.Say("verified %d objects", len(s.objects))
	return nil
}

// namespaces are those of a snapshot.
func namespaces(s *snapshot) (names []string) {
	for _, o := range s.objects {
		if ns := o.GetNamespace(); ns != "" {
			names = append(names, ns)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// namespace is what a namespace of the target has to become; nil: it is that. differs names what it has and the source has otherwise.
func (m *mover) namespace(ctx context.Context, name string) (change *corev1.Namespace, differs string, err error) {
	var from, to corev1.Namespace
	if err := m.Source.Get(ctx, client.ObjectKey{Name: name}, &from); client.IgnoreNotFound(err) != nil {
		return nil, "", fmt.Errorf("%s: read namespace %q: %w", m.Source.Name, name, err)
	}
	err = m.Target.Get(ctx, client.ObjectKey{Name: name}, &to)
	absent := apierrors.IsNotFound(err)
	if err != nil && !absent {
		return nil, "", fmt.Errorf("%s: read namespace %q: %w", m.Target.Name, name, err)
	}
	to.Name = name
	changed, differs := copyNamespace(&from, &to)
	if !changed && !absent {
		return nil, differs, nil
	}
	return &to, differs, nil
}

func (m *mover) copyNamespace(ctx context.Context, name string) error {
	change, differs, err := m.namespace(ctx, name)
	if err != nil || change == nil && differs == "" {
		return err
	}
	switch {
	case differs != "":
		err = errors.New(differs + " differs")
	case change.ResourceVersion == "":
		err = m.Target.Create(ctx, change, client.FieldOwner(fieldOwner))
	default:
		err = m.Target.Update(ctx, change, client.FieldOwner(fieldOwner))
	}
	if err != nil {
		return fmt.Errorf("%s: namespace %q: %w", m.Target.Name, name, err)
	}
	return nil
}

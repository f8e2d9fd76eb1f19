package move

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// removeAll deletes the originals of a snapshot, what is owned before its owners. One that somebody has changed since it was read is left for another round.
func (m *mover) removeAll(ctx context.Context, s *snapshot) error {
	removed := 0
	for _, o := range slices.Backward(s.objects) {
		if o.stays {
			continue
		}
		err := remove(ctx, m.Source, o)
		if apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: delete %s: %w", m.Source.Name, o, err)
		}
		removed++
	}
	m.Say("deleted %d objects at the source", removed)
	if left := staying(s); len(left) > 0 {
		m.Say("copied, and not deleted at the source: %s", strings.Join(left, ", "))
	}
	return nil
}

func staying(s *snapshot) (names []string) {
	for _, o := range s.objects {
		if o.stays {
			names = append(names, o.String())
		}
	}
	return names
}

// remove deletes one object as it was read. Its finalizers go first: they are for controllers, which would log out of a BMC or release a server, and an object
// that they keep looks like one that somebody has deleted.
func remove(ctx context.Context, from Side, o *object) error {
	version := o.GetResourceVersion()
	if len(o.GetFinalizers()) > 0 {
		now := o.DeepCopy()
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": nil, "resourceVersion": version, "uid": o.GetUID()}})
		if err != nil {
			return err
		}
		err = from.Patch(ctx, now, client.RawPatch(client.Merge.Type(), patch), client.FieldOwner(fieldOwner))
		if err != nil || o.ending() {
			return client.IgnoreNotFound(err)
		}
		version = now.GetResourceVersion()
	}
	return client.IgnoreNotFound(from.Delete(ctx, o.Unstructured,
		client.Preconditions{UID: ptr.To(o.GetUID()), ResourceVersion: &version}, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

// unmark removes from the copies what said of which original each is.
func (m *mover) unmark(ctx context.Context) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{AnnotationMovedFrom: nil, annotationFound: nil}}})
	if err != nil {
		return err
	}
	for _, k := range m.kinds {
		objects, err := list(ctx, m.Target, k)
		if err != nil {
			return err
		}
		for _, o := range objects {
			if _, marked := o.GetAnnotations()[AnnotationMovedFrom]; !marked {
				continue
			}
			err := m.Target.Patch(ctx, o.Unstructured, client.RawPatch(client.Merge.Type(), patch), client.FieldOwner(fieldOwner))
			if client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("%s: %s: %w", m.Target.Name, o, err)
			}
		}
	}
	return nil
}

// describe says what would be moved, in the order in which it would be.
func (m *mover) describe(ctx context.Context) error {
	s, err := m.read(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, o := range s.objects {
		known[string(o.GetUID())] = true
		verb := "move"
		if o.stays {
			verb = "copy"
		}
		var lost []string
		for _, ref := range o.GetOwnerReferences() {
			if !known[string(ref.UID)] {
				lost = append(lost, ref.Kind+" "+ref.Name)
			}
		}
		note := ""
		if len(lost) > 0 {
			note = ", without its owner " + strings.Join(lost, ", ") + ", which does not move"
		}
		m.Say("%s %s%s", verb, o, note)
	}
	for _, what := range s.missing {
		m.Say("missing: %s", what)
	}
	busy, err := m.booting(s)
	if err != nil {
		return err
	}
	for _, name := range busy {
		m.Say("wait for %s", name)
	}
	return nil
}

package childset

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Held is what a Set has for one target, with its conditions.
type Held struct {
	client.Object
	Kind       string
	Conditions []metav1.Condition
}

// Look finds what a Set has for a Server, or for its BMC: without listing, by the names that a child may have. kind and name are those of the Set, or of an
// object that no Set made. nil: it has nothing for them. An error is one of the API.
func Look(ctx context.Context, from client.Reader, kind, name, server, bmc string) (*Held, error) {
	for _, k := range Kinds() {
		target := server
		if k.Target != "Server" {
			target = bmc
		}
		var may []string
		switch kind {
		case k.Name:
			plain, exact := names(name, target)
			may = slices.Compact([]string{plain, exact})
		case k.Child:
			may = []string{name}
		}
		for _, child := range may {
			obj := k.newChild("")
			switch err := from.Get(ctx, client.ObjectKey{Name: child}, obj); {
			case apierrors.IsNotFound(err):
			case err != nil:
				return nil, err
			case k.targetOf(obj) == target && target != "" && (kind == k.Child || k.isOf(obj, name)):
				_, _, conditions := k.told(obj)
				return &Held{obj, k.Child, conditions}, nil
			}
		}
	}
	return nil, nil
}

// isOf reports whether a Set made a child.
func (k *Kind) isOf(child client.Object, set string) bool {
	owner := metav1.GetControllerOf(child)
	return owner != nil && owner.Kind == k.Name && owner.Name == set
}

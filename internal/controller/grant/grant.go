package grant

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

// Of finds the grant of a namespace. An error is one that goes away by trying again.
type Of func(ctx context.Context, namespace string) (assignment.Grant, error)

// Namespaces answers from the metadata of Namespaces.
type Namespaces struct {
	// Reader has the metadata of Namespaces.
	client.Reader
	// Operators are the operator's own namespaces. All grants every other one all machines, behind what is granted to it by name.
	Operators []string
	All       bool

	mu    sync.Mutex
	known map[string]read
}

// read is a grant as it was read last: one may be long, and is asked for with every object of its namespace.
type read struct {
	text     string
	machines assignment.MachineSet
	problem  string
}

// Of is the grant of a namespace.
func (n *Namespaces) Of(ctx context.Context, namespace string) (assignment.Grant, error) {
	if slices.Contains(n.Operators, namespace) {
		return assignment.Grant{Operator: true}, nil
	}
	meta := Metadata()
	err := n.Get(ctx, client.ObjectKey{Name: namespace}, meta)
	if apierrors.IsNotFound(err) {
		n.forget(namespace)
		return assignment.Grant{}, reconcileerror.Waiting{On: "Namespace " + namespace} // it comes, or its objects go with it
	}
	if err != nil {
		return assignment.Grant{}, fmt.Errorf("read Namespace %s: %w", namespace, err)
	}
	found := n.read(ctx, namespace, meta.Annotations[ipxev1.AnnotationBootIdentities])
	g := assignment.Grant{Machines: found.machines, Problem: found.problem, Since: meta.CreationTimestamp.Time}
	if n.All {
		g.Machines = g.Machines.With(assignment.AnyMachine())
	}
	return g, nil
}

func (n *Namespaces) read(ctx context.Context, namespace, text string) read {
	n.mu.Lock()
	defer n.mu.Unlock()
	if found, ok := n.known[namespace]; ok && found.text == text {
		return found
	}
	fresh := read{text: text}
	var err error
	if fresh.machines, err = assignment.ParseMachineSet(text); err != nil {
		fresh.problem = fmt.Sprintf("the annotation %s of Namespace %q is invalid and grants nothing: %v", ipxev1.AnnotationBootIdentities, namespace, err)
		log.FromContext(ctx).Info("grant of machines is invalid and grants nothing", "namespace", namespace, "error", err)
	}
	if n.known == nil {
		n.known = map[string]read{}
	}
	n.known[namespace] = fresh
	return fresh
}

func (n *Namespaces) forget(namespace string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.known, namespace)
}

// Metadata is what of Namespaces is read.
func Metadata() *metav1.PartialObjectMetadata {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return meta
}

// News lets through what changes the grant of a Namespace.
func News() predicate.Predicate {
	return predicate.Funcs{
		// Those of the start are there before the first object is looked at.
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetAnnotations()[ipxev1.AnnotationBootIdentities] != e.ObjectNew.GetAnnotations()[ipxev1.AnnotationBootIdentities] ||
				e.ObjectOld.GetUID() != e.ObjectNew.GetUID()
		},
	}
}

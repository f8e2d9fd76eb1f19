package childset

import (
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// plan is what is to be written for one target.
type plan struct {
	// change are children as they are to be; was is what they are.
	change []change
	// remove are children that go.
	remove []client.Object
	// create is the Set that makes a child; nil: none does.
	create *set
}

type change struct{ was, to client.Object }

// decide says what to write for a target.
func (v *view) decide() plan {
	var p plan
	kept := map[types.UID]bool{}
	for _, child := range v.children {
		s := v.owner(child)
		switch {
		case s == nil || deleting(child) || s.releases():
		case s.frozen():
			if s.ignoresChildren() {
				p.bring(child, ignoring(s, child))
			}
		case !s.selects(v.kind, v.target) || kept[s.GetUID()]:
			v.drop(&p, s, child)
		default:
			kept[s.GetUID()] = true
			v.keep(&p, s, child)
		}
	}
	if len(v.children) == 0 {
		p.create = v.first()
	}
	return p
}

// first is the Set that has precedence at the target.
func (v *view) first() *set {
	for _, s := range v.sets {
		if s.selects(v.kind, v.target) && !s.frozen() {
			return s
		}
	}
	return nil
}

// drop removes a child that its Set wants no more. What is in progress ends first, unless an operation allows not to wait; where the target
// does not exist, the child's own controller knows how it ends.
func (v *view) drop(p *plan, s *set, child client.Object) {
	operation, asked := metalv1.OperationOf(child)
	allowed := operation == metalv1.OperationAllowInProgressDelete
	switch {
	case v.target == nil || allowed || v.kind.stateOf(child) != inProgress:
		p.remove = append(p.remove, child)
	case s.operation == metalv1.OperationAllowInProgressDelete && (!asked || operation == metalv1.OperationIgnorePropagated):
		p.change = append(p.change, change{child, operated(child, metalv1.OperationAllowInProgressDelete)})
	}
}

// keep brings a child to what its Set wants.
func (v *view) keep(p *plan, s *set, child client.Object) {
	to, changed := ignoring(s, child), false
	if outdated := v.kind.outdated(s, to); outdated != nil && mayChange(v.kind, s, child) {
		to = outdated
		if v.kind.stateOf(child) == inProgress {
			to = operated(to, metalv1.OperationAllowInProgressUpdate)
		}
		changed = true
	}
	p.bring(child, v.follow(s, to, changed))
}

// bring changes a child, if that changes anything.
func (p *plan) bring(child, to client.Object) {
	if !equality.Semantic.DeepEqual(child, to) {
		p.change = append(p.change, change{child, to})
	}
}

// outdated is a child with the template of its Set; nil: it has that already.
func (k *Kind) outdated(s *set, child client.Object) client.Object {
	to := copyOf(child)
	if k.bring(s.Object, to); equality.Semantic.DeepEqual(child, to) {
		return nil
	}
	return to
}

// mayChange reports whether a child may get a new template now. One that a person has told Farrier to ignore stays as it is.
func mayChange(k *Kind, s *set, child client.Object) bool {
	operation, asked := metalv1.OperationOf(child)
	if operation == metalv1.OperationIgnore {
		return false
	}
	if k.stateOf(child) != inProgress || operation == metalv1.OperationAllowInProgressUpdate {
		return true
	}
	return s.operation == metalv1.OperationAllowInProgressUpdate && (!asked || operation == metalv1.OperationIgnorePropagated)
}

// ignoring is a child that is ignored while its Set says so, and no longer. An operation that a person asks for goes first.
func ignoring(s *set, child client.Object) client.Object {
	operation, asked := metalv1.OperationOf(child)
	switch {
	case s.ignoresChildren() && !asked:
		return operated(child, metalv1.OperationIgnorePropagated)
	case !s.ignoresChildren() && operation == metalv1.OperationIgnorePropagated:
		return operated(child, "")
	}
	return child
}

// operated is a copy of an object that asks for an operation, or for none.
func operated(obj client.Object, operation string) client.Object {
	to := copyOf(obj)
	annotations := maps.Clone(to.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	if delete(annotations, metalv1.AnnotationOperation); operation != "" {
		maps.Copy(annotations, map[string]string{metalv1.AnnotationOperation: operation})
	}
	to.SetAnnotations(annotations)
	return to
}

func copyOf(obj client.Object) client.Object { return obj.DeepCopyObject().(client.Object) }

package childset

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// state is how far a child has come, in the words that all kinds of children share.
type state int

const (
	pending state = iota
	inProgress
	completed
	failed
)

// counters are what the status of a Set counts.
type counters struct {
	targets, available, pending, inProgress, completed, failed int32
}

// add counts a child.
func (c *counters) add(s state) {
	c.available++
	switch s {
	case pending:
		c.pending++
	case inProgress:
		c.inProgress++
	case completed:
		c.completed++
	case failed:
		c.failed++
	}
}

// standing is the part of a Set's status that all kinds of Sets have.
type standing struct {
	generation *int64
	conditions *[]metav1.Condition
}

// Kind is one kind of Set: everything that the engine has to know of it.
type Kind struct {
	// Name is that of the Set, Child and Target those of the kinds that it connects.
	Name, Child, Target string
	finalizer           string
	// byTarget is the index of children by the name of their target.
	byTarget string

	newSet, newTarget       func() client.Object
	sets, children, targets func() client.ObjectList

	// selector selects targets by their labels.
	selector func(set client.Object) *metav1.LabelSelector
	// newChild is a child for a target, without the template.
	newChild func(target string) client.Object
	targetOf func(child client.Object) string
	// bring copies the template of a Set into a child.
	bring func(set, child client.Object)
	// underWay reports whether a child is working on its target, by the facts that its controller keeps.
	underWay func(child client.Object) bool
	// told is what the status of a child says, and for which generation.
	told func(child client.Object) (s state, of int64, conditions []metav1.Condition)
	// count writes the counters into the status of a Set.
	count func(set client.Object, c counters) standing
	// counted reads them.
	counted func(set client.Object) (counters, standing)
	// policy is how a child asks for its servers.
	policy func(child client.Object) metalv1.ServerMaintenancePolicy
	// forecast writes into the status of a child what its controller would say at first.
	forecast func(target, child client.Object)
}

// stateOf is how far a child has come with the spec that it has.
func (k *Kind) stateOf(child client.Object) state {
	s, of, _ := k.told(child)
	switch {
	case k.underWay(child) || s == inProgress:
		return inProgress
	case of != child.GetGeneration():
		return pending
	}
	return s
}

// row is a Kind in the types of its Sets and children.
type row[S, C client.Object] struct {
	name, child, target string
	finalizer, byTarget string

	newSet                  func() S
	newTarget               func() client.Object
	sets, children, targets func() client.ObjectList

	selector func(S) *metav1.LabelSelector
	newChild func(target string) C
	targetOf func(C) string
	bring    func(S, C)
	underWay func(C) bool
	told     func(C) (state, int64, []metav1.Condition)
	count    func(S, counters)
	counted  func(S) (counters, standing)
	policy   func(C) metalv1.ServerMaintenancePolicy
	forecast func(target client.Object, child C)
}

// kind forgets the types: the engine handles objects of all kinds alike.
func (r row[S, C]) kind() *Kind {
	return &Kind{
		Name: r.name, Child: r.child, Target: r.target, finalizer: r.finalizer, byTarget: r.byTarget,
		newSet: func() client.Object { return r.newSet() }, newTarget: r.newTarget, sets: r.sets, children: r.children, targets: r.targets,
		selector: func(set client.Object) *metav1.LabelSelector { return r.selector(as[S](set)) },
		newChild: func(target string) client.Object { return r.newChild(target) },
		targetOf: func(child client.Object) string { return r.targetOf(as[C](child)) },
		bring:    func(set, child client.Object) { r.bring(as[S](set), as[C](child)) },
		underWay: func(child client.Object) bool { return r.underWay(as[C](child)) },
		policy:   func(child client.Object) metalv1.ServerMaintenancePolicy { return r.policy(as[C](child)) },
		forecast: func(target, child client.Object) { r.forecast(target, as[C](child)) },
		told:     func(child client.Object) (state, int64, []metav1.Condition) { return r.told(as[C](child)) },
		count: func(set client.Object, c counters) standing {
			s := as[S](set)
			r.count(s, c)
			_, stands := r.counted(s)
			return stands
		},
		counted: func(set client.Object) (counters, standing) {
			if s, ok := set.(S); ok {
				return r.counted(s)
			}
			return counters{}, standing{} // only its metadata is known
		},
	}
}

// as is an object in its type, which the caches give it: another one is a mistake in the table.
func as[T client.Object](obj client.Object) T { return obj.(T) }

package childset

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// view is everything that is known of one target.
type view struct {
	kind *Kind
	name string
	// target is nil where it does not exist.
	target client.Object
	// sets are all Sets of the kind, in the order of their precedence.
	sets []*set
	// defaults says that there is a RolloutPolicy for Sets that choose none.
	defaults bool
	// children are all children that the target has, whosever they are, oldest first.
	children []client.Object
}

// set is what decisions look at of a Set.
type set struct {
	client.Object
	selector labels.Selector
	// problem says why its selector selects nothing; nil: it does.
	problem error
	// operation is what its annotation asks for.
	operation string
}

// readSet reads a Set.
func (k *Kind) readSet(obj client.Object) *set {
	s := &set{Object: obj}
	s.operation, _ = metalv1.OperationOf(obj)
	s.selector, s.problem = metav1.LabelSelectorAsSelector(k.selector(obj))
	return s
}

// readSets reads all Sets, those first that have precedence: the oldest.
func (k *Kind) readSets(objects []client.Object) []*set {
	sets := make([]*set, 0, len(objects))
	for _, obj := range objects {
		sets = append(sets, k.readSet(obj))
	}
	slices.SortFunc(sets, func(a, b *set) int { return byAge(a.Object, b.Object) })
	return sets
}

// byAge orders objects, the oldest first.
func byAge(a, b client.Object) int {
	x, y := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if c := x.Compare(y.Time); c != 0 {
		return c
	}
	return strings.Compare(a.GetName(), b.GetName())
}

func deleting(obj client.Object) bool { return !obj.GetDeletionTimestamp().IsZero() }

// frozen reports whether nothing of a Set is to be changed: it is to be ignored, or nobody knows what it selects. A Set that is being deleted is
// not ignored.
func (s *set) frozen() bool {
	return !deleting(s) && (s.problem != nil || s.ignoresItself())
}

func (s *set) ignoresItself() bool {
	return s.operation == metalv1.OperationIgnore || s.operation == metalv1.OperationIgnorePropagated || s.operation == metalv1.OperationIgnoreChildAndSelf
}

func (s *set) ignoresChildren() bool {
	return s.operation == metalv1.OperationIgnoreChild || s.operation == metalv1.OperationIgnoreChildAndSelf
}

// selects reports whether a target is one of the Set's. A Set has targets from the moment that it has its finalizer.
func (s *set) selects(k *Kind, target client.Object) bool {
	return target != nil && !deleting(target) && s.problem == nil && !deleting(s) && controllerutil.ContainsFinalizer(s, k.finalizer) &&
		s.selector.Matches(labels.Set(target.GetLabels()))
}

// releases reports whether the garbage collector takes the children of a deleted Set from it, as its deleter asked: they stay.
func (s *set) releases() bool {
	return deleting(s) && slices.Contains(s.GetFinalizers(), metav1.FinalizerOrphanDependents)
}

// controllerOf is the UID of what controls a child, empty where nothing does.
func controllerOf(child client.Object) types.UID {
	if owner := metav1.GetControllerOfNoCopy(child); owner != nil {
		return owner.UID
	}
	return ""
}

// owner is the Set that a child belongs to, nil where it belongs to nobody that is known.
func (v *view) owner(child client.Object) *set {
	uid := controllerOf(child)
	for _, s := range v.sets {
		if uid != "" && s.GetUID() == uid {
			return s
		}
	}
	return nil
}

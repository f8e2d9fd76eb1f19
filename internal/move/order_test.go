package move

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// TestOwnersComeFirst: whatever objects mention each other, each comes after its owners: the garbage collector deletes what has an owner that does not exist.
func TestOwnersComeFirst(t *testing.T) {
	const objects = 12
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var all []*object
		for i := range objects {
			o := &object{Unstructured: &unstructured.Unstructured{Object: map[string]any{}}, kind: kind{resource: fmt.Sprint(random.IntN(3))}}
			o.SetName(fmt.Sprint(i))
			o.SetUID(uidOf(i))
			if i > 0 && random.IntN(2) == 0 {
				o.SetOwnerReferences([]metav1.OwnerReference{{UID: uidOf(random.IntN(i))}})
			}
			o.SetAnnotations(map[string]string{"a": string(uidOf(random.IntN(objects)))})
			all = append(all, o)
		}
		random.Shuffle(objects, func(i, j int) { all[i], all[j] = all[j], all[i] })
		done := sorted(all)
		if len(done) != objects {
			t.Fatalf("%d objects, want %d", len(done), objects)
		}
		for i, o := range done {
			for _, uid := range uidsOfOwners(o) {
				if !slices.ContainsFunc(done[:i], func(owner *object) bool { return owner.GetUID() == uid }) {
					t.Fatalf("%s comes before its owner %s", o.GetUID(), uid)
				}
			}
		}
	}
}

func uidOf(i int) types.UID {
	return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i))
}

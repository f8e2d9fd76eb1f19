package claim

import (
	"fmt"
	"math/rand/v2"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// others are all who write beside the controller, where a test lets them: users who delete claims, and make them anew under
// the same name; the state machine of servers, which releases and cleans what has no claim; and the garbage collector.
type others struct {
	users  *rand.Rand // nil: there is nobody
	left   int        // deletions
	claims int        // by number
	orphan []key      // what has to be looked at: servers and boot configurations
	named  map[string]int
	// deleted counts claims, by what they had: nothing, a server that they did not name yet, or all.
	deleted map[string]int
	anew    int
}

// let begins it: some claims are deleted at random, and most of all right after a server was taken for them.
func (o *others) let(l *life, claims int) {
	*o = others{users: l.random, left: claims / 2, claims: claims, named: map[string]int{}, deleted: map[string]int{}}
	l.store.wrote = func(before, after client.Object) {
		server, ok := after.(*metalv1.Server)
		if !ok || server.Spec.ServerClaimRef == nil {
			return
		}
		if mark := before.GetAnnotations()[metalv1.AnnotationClaimedBy]; mark != "" {
			l.t.Errorf("%s was taken for %s and has not been cleaned after %s", server.Name, server.Spec.ServerClaimRef.Name, mark)
		}
		if ref := server.Spec.ServerClaimRef; l.random.IntN(5) == 0 {
			o.remove(l, key{"*v1alpha1.ServerClaim", ref.Namespace, ref.Name})
		}
	}
}

// remove deletes a claim; often another is made under its name before anybody has heard of that.
func (o *others) remove(l *life, k key) {
	c, ok := l.store.truth[k].(*metalv1.ServerClaim)
	if !ok || !c.DeletionTimestamp.IsZero() || o.left == 0 {
		return
	}
	o.left--
	had := "nothing"
	for _, obj := range l.store.truth {
		if s, ok := obj.(*metalv1.Server); ok && s.Annotations[metalv1.AnnotationClaimedBy] == string(c.UID) {
			had = "a server"
		}
	}
	if c.Spec.ServerRef != nil && had != "nothing" {
		had = "all"
	}
	o.deleted[had]++
	if l.store.remove(k); l.store.truth[k] != nil || o.users.IntN(2) == 0 {
		return
	}
	o.anew++
	o.named[c.Name]++
	again := newClaim(c.Name)
	again.UID = types.UID(fmt.Sprintf("uid-%s-%d", c.Name, o.named[c.Name]))
	again.CreationTimestamp = metav1.NewTime(controllertest.Start)
	again.Spec.ServerSelector = c.Spec.ServerSelector
	l.store.put(again)
}

// act has one of them do something, and returns false if there is nothing to do.
func (o *others) act(l *life) bool {
	if o.users == nil {
		return false
	}
	if o.left > 0 && o.users.IntN(10) == 0 {
		o.remove(l, key{"*v1alpha1.ServerClaim", "ns", fmt.Sprintf("c%04d", o.users.IntN(o.claims))})
		return true
	}
	if len(o.orphan) == 0 {
		for k, obj := range l.store.truth {
			if _, isClaim := obj.(*metalv1.ServerClaim); !isClaim && o.ownerless(l, obj) {
				o.orphan = append(o.orphan, k)
			}
		}
	}
	if len(o.orphan) == 0 {
		return false
	}
	k := o.orphan[0]
	o.orphan = o.orphan[1:]
	obj := l.store.truth[k]
	if obj == nil || !o.ownerless(l, obj) {
		return true
	}
	server, ok := obj.(*metalv1.Server)
	if !ok {
		l.store.remove(k)
		return true
	}
	server = server.DeepCopy()
	if server.Spec.ServerClaimRef != nil { // released
		server.Spec.ServerClaimRef, server.Spec.BootConfigurationRef = nil, nil
	} else { // cleaned
		delete(server.Annotations, metalv1.AnnotationClaimedBy)
	}
	l.store.put(server)
	return true
}

// ownerless reports whether a server or a boot configuration was a claim's that is gone, or given back by it.
func (o *others) ownerless(l *life, obj client.Object) bool {
	exists := func(namespace, name, uid string) bool {
		c := l.store.truth[key{"*v1alpha1.ServerClaim", namespace, name}]
		return c != nil && string(c.GetUID()) == uid
	}
	if s, ok := obj.(*metalv1.Server); ok {
		mark, ref := s.Annotations[metalv1.AnnotationClaimedBy], s.Spec.ServerClaimRef
		return mark != "" && (ref == nil || !exists(ref.Namespace, ref.Name, mark))
	}
	owner := metav1.GetControllerOf(obj)
	return owner != nil && !exists(obj.GetNamespace(), owner.Name, string(owner.UID))
}

// TestClaimsAreDeletedAtAnyMoment: whatever is deleted when, and made anew under the same name, each server in the end is of one
// claim that exists, and none has changed hands without having been cleaned.
func TestClaimsAreDeletedAtAnyMoment(t *testing.T) {
	for _, seed := range seeds(t, 3) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			l := newLife(t, seed, 300)
			l.add(200, 500, func(*rand.Rand, *metalv1.Server, *metalv1.ServerClaim) {})
			l.others.let(l, 500)
			l.run(8)
			if bound := l.check(); bound != 200 {
				t.Errorf("%d are bound", bound)
			}
			for k, obj := range l.store.truth {
				if config, ok := obj.(*metalv1.ServerBootConfiguration); ok && l.store.truth[key{"*v1alpha1.ServerClaim", "ns", config.Name}] == nil {
					t.Errorf("boot configuration %s is left of a claim that is gone", k.name)
				}
			}
			o := &l.others
			if o.deleted["nothing"] == 0 || o.deleted["a server"] < 20 || o.deleted["all"] == 0 || o.anew < 20 {
				t.Errorf("deleted were %v, made anew %d: that tests nothing", o.deleted, o.anew)
			}
			t.Logf("%d steps, %d lives, writes %v, deleted %v, made anew %d", l.steps, l.lives, l.store.writes, o.deleted, o.anew)
		})
	}
}

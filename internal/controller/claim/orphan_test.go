package claim

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// disowned is what the garbage collector does to what belongs to an object that is deleted with propagation policy Orphan.
func disowned(t *testing.T, api *controllertest.API) {
	t.Helper()
	controllertest.Change(t, api, "ns/c", func(b *metalv1.ServerBootConfiguration) { b.OwnerReferences = nil })
}

// TestAClaimThatIsDeletedAsAnOrphanLeavesNoBootConfiguration: the garbage collector takes its owner away, before or after the controller
// hears of the deletion.
func TestAClaimThatIsDeletedAsAnOrphanLeavesNoBootConfiguration(t *testing.T) {
	for name, first := range map[string]bool{"the garbage collector is first": true, "the controller is first": false} {
		t.Run(name, func(t *testing.T) {
			api := controllertest.NewAPI(t, free("s"), newClaim("c"))
			r := newReconciler(api)
			api.Settle(t, r, "ns/c")
			api.Remove(t, readClaim(t, api, "c"))
			if first {
				disowned(t, api)
			}
			api.Settle(t, r, "ns/c")
			if !controllertest.Gone[metalv1.ServerClaim](t, api, "ns/c") {
				t.Error("the claim is still there")
			}
			if !controllertest.Gone[metalv1.ServerBootConfiguration](t, api, "ns/c") {
				t.Error("its boot configuration is still there")
			}
		})
	}
}

// TestTheNextClaimOfThatName: a boot configuration that was left behind all the same, its mark says of what, makes room for the next claim's.
func TestTheNextClaimOfThatName(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("c"))
	left := &metalv1.ServerBootConfiguration{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "c", Annotations: map[string]string{metalv1.AnnotationClaimedBy: "uid-of-another", metalv1.AnnotationBootAttempt: "{}"},
	}}
	left.Spec = metalv1.ServerBootConfigurationSpec{ServerRef: metalv1.LocalObjectReference{Name: "other"}, Image: "registry/os:0"}
	api.Add(t, left)
	api.Settle(t, newReconciler(api), "ns/c")
	checkBound(t, api, "c", "s")
	config := controllertest.Read[metalv1.ServerBootConfiguration](t, api, "ns/c")
	if config.UID == left.UID || !metav1.IsControlledBy(config, readClaim(t, api, "c")) || config.Annotations[metalv1.AnnotationBootAttempt] != "" || config.Spec.Image != "registry/os:1" {
		t.Errorf("it has %v %+v", config.ObjectMeta, config.Spec)
	}
}

// TestAClaimTakesItsOwnBootConfigurationBack: somebody has removed its owner.
func TestAClaimTakesItsOwnBootConfigurationBack(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("c"))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	uid := controllertest.Read[metalv1.ServerBootConfiguration](t, api, "ns/c").UID
	disowned(t, api)
	api.Settle(t, r, "ns/c")
	config := controllertest.Read[metalv1.ServerBootConfiguration](t, api, "ns/c")
	if config.UID != uid || !metav1.IsControlledBy(config, readClaim(t, api, "c")) {
		t.Errorf("it is another, or of %v", config.OwnerReferences)
	}
}

// TestADeletedClaimLeavesWhatIsNotItsOwn: neither what somebody wrote by hand, nor what another owner has.
func TestADeletedClaimLeavesWhatIsNotItsOwn(t *testing.T) {
	for name, change := range map[string]func(*metalv1.ServerBootConfiguration){
		"by hand": func(b *metalv1.ServerBootConfiguration) { b.OwnerReferences, b.Annotations = nil, nil },
		"of another claim": func(b *metalv1.ServerBootConfiguration) {
			b.OwnerReferences, b.Annotations = nil, map[string]string{metalv1.AnnotationClaimedBy: "uid-of-another"}
		},
		"of another owner": func(b *metalv1.ServerBootConfiguration) { b.OwnerReferences[0].UID = types.UID("uid-of-another") },
	} {
		t.Run(name, func(t *testing.T) {
			api := controllertest.NewAPI(t, free("s"), newClaim("c"))
			r := newReconciler(api)
			api.Settle(t, r, "ns/c")
			controllertest.Change(t, api, "ns/c", change)
			api.Remove(t, readClaim(t, api, "c"))
			api.Settle(t, r, "ns/c")
			if controllertest.Gone[metalv1.ServerBootConfiguration](t, api, "ns/c") || !controllertest.Gone[metalv1.ServerClaim](t, api, "ns/c") {
				t.Error("want the claim gone and the boot configuration there")
			}
		})
	}
}

package claim

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/allocator"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

func TestAClaimTakesAFreeServer(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("c"))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	checkBound(t, api, "c", "s")
	c := readClaim(t, api, "c")
	if c.Status.ObservedGeneration != c.Generation || len(c.Finalizers) != 1 {
		t.Errorf("observed generation %d of %d, finalizers %v", c.Status.ObservedGeneration, c.Generation, c.Finalizers)
	}
	// Whose it is and what it boots: one patch, so that there is nothing in between.
	if w := api.Writes("Server"); len(w) != 1 {
		t.Errorf("the Server was written to %d times: %v", len(w), w)
	}
	api.ForgetWrites()
	api.Step(t, r, "ns/c")
	if w := api.Writes(""); len(w) != 0 {
		t.Errorf("a bound claim is written to: %v", w)
	}
}

func TestTheBootConfigurationIsTheClaims(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("c", func(c *metalv1.ServerClaim) {
		c.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{Name: "ignition"}
		c.Annotations = map[string]string{
			metalv1.AnnotationBootPolicy: "Once", metalv1.AnnotationImagePullSecret: "pull",
			metalv1.AnnotationReinstall: "2026-03-01", "example.org/other": "x",
		}
	}))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	config := controllertest.Read[metalv1.ServerBootConfiguration](t, api, "ns/c")
	want := metalv1.ServerBootConfigurationSpec{
		ServerRef: metalv1.LocalObjectReference{Name: "s"}, Image: "registry/os:1", IgnitionSecretRef: &metalv1.LocalObjectReference{Name: "ignition"},
	}
	if diff := cmp.Diff(want, config.Spec); diff != "" {
		t.Errorf("spec (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{metalv1.AnnotationBootPolicy: "Once", metalv1.AnnotationImagePullSecret: "pull",
		metalv1.AnnotationReinstall: "2026-03-01", metalv1.AnnotationClaimedBy: string(readClaim(t, api, "c").UID)}, config.Annotations); diff != "" {
		t.Errorf("annotations (-want +got)\n%s", diff)
	}
	if !metav1.IsControlledBy(config, readClaim(t, api, "c")) {
		t.Errorf("it is owned by %v", config.OwnerReferences)
	}

	// It follows the claim, and keeps what others have written on it.
	controllertest.Change(t, api, "ns/c", func(b *metalv1.ServerBootConfiguration) { b.Annotations[metalv1.AnnotationBootAttempt] = "{}" })
	controllertest.Change(t, api, "ns/c", func(c *metalv1.ServerClaim) {
		c.Spec.Image, c.Spec.IgnitionSecretRef = "registry/os:2", nil
		delete(c.Annotations, metalv1.AnnotationBootPolicy)
	})
	api.Settle(t, r, "ns/c")
	config = controllertest.Read[metalv1.ServerBootConfiguration](t, api, "ns/c")
	if config.Spec.Image != "registry/os:2" || config.Spec.IgnitionSecretRef != nil {
		t.Errorf("spec %+v", config.Spec)
	}
	if _, still := config.Annotations[metalv1.AnnotationBootPolicy]; still || config.Annotations[metalv1.AnnotationBootAttempt] != "{}" {
		t.Errorf("annotations %v", config.Annotations)
	}
}

// TestTwoClaimsNeverGetOneServer: two managers have seen the server free; the lock lets one through.
func TestTwoClaimsNeverGetOneServer(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("a"), newClaim("b"))
	first, second := newReconciler(api), newReconciler(api)
	second.cache.Client = api.Lagging(t, &metalv1.ServerList{})
	api.Settle(t, first, "ns/a")
	api.Step(t, second, "ns/b")
	if s := readServer(t, api, "s"); s.Spec.ServerClaimRef.Name != "a" {
		t.Fatalf("it is %v's", s.Spec.ServerClaimRef)
	}
	api.Settle(t, second, "ns/b")
	second.cache.Client = api
	second.clock.Step(repeatAfter)
	api.Settle(t, second, "ns/b")
	checkBound(t, api, "a", "s")
	checkUnbound(t, api, "b", metalv1.ReasonAllMatchingServersBusy)
}

// namingFails lets everything through but the server's name into the claim.
func namingFails(verb string, obj runtime.Object) error {
	if c, ok := obj.(*metalv1.ServerClaim); ok && verb == controllertest.Patch && c.Spec.ServerRef != nil {
		return apierrors.NewConflict(schema.GroupResource{Resource: "serverclaims"}, c.Name, fmt.Errorf("modified"))
	}
	return nil
}

func TestAClaimFindsTheServerThatItTookBeforeACrash(t *testing.T) {
	api := controllertest.NewAPI(t, free("a"), free("b"), newClaim("c"))
	r := newReconciler(api)
	api.Fail = namingFails
	api.Step(t, r, "ns/c")
	if readServer(t, api, "a").Spec.ServerClaimRef == nil || readClaim(t, api, "c").Spec.ServerRef != nil {
		t.Fatal("that is not the moment of the crash")
	}
	api.Fail = nil
	api.Settle(t, newReconciler(api), "ns/c")
	checkBound(t, api, "c", "a")
	if s := readServer(t, api, "b"); s.Spec.ServerClaimRef != nil {
		t.Error("the claim has taken a second server")
	}
}

// TestACacheThatLagsGivesNoSecondServer: the claim's own write fails, and when it tries again the cache
// shows the server that it has taken as free still, and one that became free before that.
func TestACacheThatLagsGivesNoSecondServer(t *testing.T) {
	api := controllertest.NewAPI(t, free("a", inDiscovery), free("b"), newClaim("c"))
	r := newReconciler(api)
	early := api.Lagging(t, &metalv1.ServerList{})
	controllertest.ChangeStatus(t, api, "a", becomesFree)
	late := api.Lagging(t, &metalv1.ServerList{})
	api.Fail = namingFails
	r.cache.Client = early
	api.Step(t, r, "ns/c")
	api.Fail = nil
	r.cache.Client = late
	api.Step(t, r, "ns/c")
	r.cache.Client = api
	api.Settle(t, r, "ns/c")
	checkBound(t, api, "c", "b")
	if s := readServer(t, api, "a"); s.Spec.ServerClaimRef != nil {
		t.Error("the claim has taken a second server")
	}
}

// TestAClaimUnderAnOldNameGetsNothingOfTheOldOne: not its server, which is still being released.
func TestAClaimUnderAnOldNameGetsNothingOfTheOldOne(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("c"))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	old := readClaim(t, api, "c")
	api.Remove(t, old)
	api.Settle(t, r, "ns/c")
	if !controllertest.Gone[metalv1.ServerClaim](t, api, "ns/c") {
		t.Fatal("the old claim is still there")
	}

	api.Add(t, newClaim("c"))
	api.Settle(t, r, "ns/c")
	checkUnbound(t, api, "c", metalv1.ReasonAllMatchingServersBusy)
	if !controllertest.Gone[metalv1.ServerBootConfiguration](t, api, "ns/c") {
		t.Error("the boot configuration of the old one is still there")
	}

	// Once more by name: the same.
	api.Remove(t, readClaim(t, api, "c"))
	api.Settle(t, r, "ns/c")
	api.Add(t, newClaim("c", wants("s")))
	api.Settle(t, r, "ns/c")
	checkUnbound(t, api, "c", metalv1.ReasonAllMatchingServersBusy, `"s"`)
}

func TestANamedServerThatCannotBeHad(t *testing.T) {
	for name, tc := range map[string]struct {
		server *metalv1.Server
		claim  func(*metalv1.ServerClaim)
		reason string
		says   string
	}{
		"missing": {free("other"), nil, allocator.ReasonServerNotFound, `"s" does not exist`},
		"taken": {free("s", func(s *metalv1.Server) {
			s.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "ns", Name: "first"}
		}), nil, metalv1.ReasonAllMatchingServersBusy, "ns/first"},
		"not looked at yet": {free("s", inDiscovery), nil,
			metalv1.ReasonAllMatchingServersBusy, "Discovery"},
		"not clean yet": {free("s", func(s *metalv1.Server) {
			s.Annotations = map[string]string{metalv1.AnnotationClaimedBy: "before"}
		}), nil, metalv1.ReasonAllMatchingServersBusy, "cleaned"},
		"of another kind": {free("s"), func(c *metalv1.ServerClaim) {
			c.Spec.ServerSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"size": "l"}}
		}, allocator.ReasonSelectorMismatch, `"s"`},
		"selector nobody understands": {free("s"), func(c *metalv1.ServerClaim) {
			c.Spec.ServerSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "size", Operator: "Near"}}}
		}, allocator.ReasonSelectorInvalid, "Near"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClaim("c", wants("s"))
			if tc.claim != nil {
				tc.claim(c)
			}
			api := controllertest.NewAPI(t, tc.server, c)
			api.Settle(t, newReconciler(api), "ns/c")
			checkUnbound(t, api, "c", tc.reason, tc.says)
			controllertest.Says(t, readClaim(t, api, "c").Status.Conditions, metalv1.ConditionBootReady, metav1.ConditionFalse, "NotBound")
		})
	}
}

func TestANamedServerIsTakenWhenItAppears(t *testing.T) {
	api := controllertest.NewAPI(t, newClaim("c", wants("s")))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	checkUnbound(t, api, "c", allocator.ReasonServerNotFound)
	s := free("s")
	api.Add(t, s)
	controllertest.ChangeStatus(t, api, "s", becomesFree)
	if got := r.claimsOf(t.Context(), readServer(t, api, "s")); len(got) != 1 || got[0].Name != "c" {
		t.Errorf("the server wakes %v", got)
	}
	api.Settle(t, r, "ns/c")
	checkBound(t, api, "c", "s")
}

func TestAForeignBootConfigurationIsLeftAloneAndSaid(t *testing.T) {
	foreign := &metalv1.ServerBootConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	foreign.Spec = metalv1.ServerBootConfigurationSpec{ServerRef: metalv1.LocalObjectReference{Name: "other"}, Image: "theirs"}
	foreign.Status.State = metalv1.ServerBootConfigurationStateReady
	api := controllertest.NewAPI(t, free("s"), newClaim("c"), foreign)
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	checkBound(t, api, "c", "s")
	controllertest.Says(t, readClaim(t, api, "c").Status.Conditions, metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationTaken", "ns/c")
	if w := api.Writes("ServerBootConfiguration"); len(w) != 0 {
		t.Errorf("it was written to: %v", w)
	}
	api.Remove(t, foreign)
	api.Settle(t, r, "ns/c")
	controllertest.Says(t, readClaim(t, api, "c").Status.Conditions, metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationPending")
	if config := controllertest.Read[metalv1.ServerBootConfiguration](t, api, "ns/c"); config.Spec.Image != "registry/os:1" {
		t.Errorf("the boot configuration is %+v", config.Spec)
	}
}

// TestDeletionEndsTheClaimAtOnce: no machine can hold it back. The Server sees for itself that it is gone.
func TestDeletionEndsTheClaimAtOnce(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("c"))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	api.Remove(t, readClaim(t, api, "c"))
	api.ForgetWrites()
	api.Settle(t, r, "ns/c")
	if !controllertest.Gone[metalv1.ServerClaim](t, api, "ns/c") {
		t.Error("the claim is still there")
	}
	if w := api.Writes("Server"); len(w) != 0 {
		t.Errorf("the Server is its own state machine's: %v", w)
	}
}

func TestBootReadyIsMirroredBothWays(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("c"))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	set := func(state metalv1.ServerBootConfigurationState, generation int64, problem string) []metav1.Condition {
		controllertest.ChangeStatus(t, api, "ns/c", func(b *metalv1.ServerBootConfiguration) {
			b.Status.State, b.Status.ObservedGeneration, b.Status.Conditions = state, generation, nil
			if problem != "" {
				apimeta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: metalv1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Error", Message: problem})
			}
		})
		api.Settle(t, r, "ns/c")
		return readClaim(t, api, "c").Status.Conditions
	}
	controllertest.Says(t, set(metalv1.ServerBootConfigurationStateError, 1, "no kernel"), metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationError", "no kernel")
	controllertest.Says(t, set(metalv1.ServerBootConfigurationStateReady, 1, ""), metalv1.ConditionBootReady, metav1.ConditionTrue, "BootConfigurationReady")
	controllertest.Says(t, set(metalv1.ServerBootConfigurationStatePending, 1, "waits"), metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationPending", "waits")
	controllertest.Says(t, set(metalv1.ServerBootConfigurationStateReady, 1, ""), metalv1.ConditionBootReady, metav1.ConditionTrue, "BootConfigurationReady")

	// Ready of an older generation is not ready.
	controllertest.Change(t, api, "ns/c", func(c *metalv1.ServerClaim) { c.Spec.Image = "registry/os:2" })
	api.Settle(t, r, "ns/c")
	controllertest.Says(t, readClaim(t, api, "c").Status.Conditions, metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationPending")
}

func TestAClaimThatLostItsServerSaysSo(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("c"))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	api.Remove(t, readServer(t, api, "s"))
	api.Settle(t, r, "ns/c")
	c := readClaim(t, api, "c")
	controllertest.Says(t, c.Status.Conditions, metalv1.ConditionBound, metav1.ConditionFalse, allocator.ReasonServerNotFound)
	controllertest.Says(t, c.Status.Conditions, metalv1.ConditionBootReady, metav1.ConditionFalse, "NotBound")
}

func TestAnIgnoredClaimTakesNothing(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("c", func(c *metalv1.ServerClaim) {
		c.Annotations = map[string]string{metalv1.AnnotationOperation: metalv1.OperationIgnore}
	}))
	api.Settle(t, newReconciler(api), "ns/c")
	if w := api.Writes(""); len(w) != 0 {
		t.Errorf("written: %v", w)
	}
}

func TestWhomAServerWakes(t *testing.T) {
	api := controllertest.NewAPI(t, newClaim("waiting"), newClaim("named", wants("s")), newClaim("elsewhere", wants("x"), func(c *metalv1.ServerClaim) {
		c.Status.Phase = metalv1.ServerClaimPhaseBound
	}))
	r := newReconciler(api)
	woken := func(s *metalv1.Server) map[string]bool {
		found := map[string]bool{}
		for _, req := range r.claimsOf(t.Context(), s) {
			found[req.Name] = true
		}
		return found
	}
	if diff := cmp.Diff(map[string]bool{"named": true}, woken(free("s"))); diff != "" {
		t.Errorf("a free server (-want +got)\n%s", diff)
	}
	busy := free("s", func(s *metalv1.Server) {
		s.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "ns", Name: "owner"}
	})
	if diff := cmp.Diff(map[string]bool{"owner": true, "named": true}, woken(busy)); diff != "" {
		t.Errorf("a server of somebody (-want +got)\n%s", diff)
	}
}

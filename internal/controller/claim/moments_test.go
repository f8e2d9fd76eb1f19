package claim

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestFourWritesBindAClaim: the Server, the claim, the boot configuration, status; that a claim needs no more is what a thousand of them cost.
func TestFourWritesBindAClaim(t *testing.T) {
	selects := func(c *metalv1.ServerClaim) {
		c.Spec.ServerSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"size": "m"}}
	}
	for name, claim := range map[string]*metalv1.ServerClaim{
		"any":                  newClaim("c"),
		"by label":             newClaim("c", selects),
		"by name":              newClaim("c", wants("s")),
		"by label and by name": newClaim("c", selects, wants("s")),
	} {
		t.Run(name, func(t *testing.T) {
			api := controllertest.NewAPI(t, free("s"), claim)
			var asked []controllertest.Request // those that are refused count as well
			api.Fail = func(verb string, obj runtime.Object) error {
				if o, ok := obj.(client.Object); ok && verb != controllertest.Get {
					asked = append(asked, controllertest.Request{Verb: verb, Kind: keyOf(o).kind, Name: o.GetName()})
				}
				return nil
			}
			api.Settle(t, newReconciler(api), "ns/c")
			checkBound(t, api, "c", "s")
			want := []controllertest.Request{
				{Verb: controllertest.Patch, Kind: "*v1alpha1.Server", Name: "s"},
				{Verb: controllertest.Patch, Kind: "*v1alpha1.ServerClaim", Name: "c"},
				{Verb: controllertest.Create, Kind: "*v1alpha1.ServerBootConfiguration", Name: "c"},
				{Verb: controllertest.PatchStatus, Kind: "*v1alpha1.ServerClaim", Name: "c"},
			}
			if !slices.Equal(asked, want) {
				t.Errorf("written: %v, want %v", asked, want)
			}
			if f := readClaim(t, api, "c").Finalizers; !slices.Equal(f, []string{metalv1.FinalizerServerClaim}) {
				t.Errorf("finalizers %v", f)
			}
		})
	}
}

// TestAClaimThatHasNothingIsHeldBackByNothing: it is told why it waits, and no more; when it is deleted it is gone.
func TestAClaimThatHasNothingIsHeldBackByNothing(t *testing.T) {
	api := controllertest.NewAPI(t, busy("s"), newClaim("c"))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	if w := api.Writes(""); len(w) != 1 || w[0].Verb != controllertest.PatchStatus {
		t.Errorf("written: %v", w)
	}
	api.Remove(t, readClaim(t, api, "c"))
	if !controllertest.Gone[metalv1.ServerClaim](t, api, "ns/c") {
		t.Error("the claim is still there")
	}
	api.Settle(t, r, "ns/c")
	api.Add(t, free("t"))
	if err := r.inform(t.Context()); err != nil {
		t.Fatal(err)
	}
	if concerned := r.matcher.match(); len(concerned) != 0 {
		t.Errorf("%v are given something", concerned)
	}
}

// TestAClaimIsDeletedWhenItsServerWasTaken: it does not name it yet, and nothing holds it back. Its Server knows whose it was, and is
// nobody else's before it has been cleaned: not that of a claim of the same name.
func TestAClaimIsDeletedWhenItsServerWasTaken(t *testing.T) {
	for name, anew := range map[string]*metalv1.ServerClaim{
		"":                   nil,
		"made anew":          newClaim("c"),
		"made anew, by name": newClaim("c", wants("s")),
		"made anew, to be left": newClaim("c", func(c *metalv1.ServerClaim) {
			c.Annotations = map[string]string{metalv1.AnnotationOperation: metalv1.OperationIgnore}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			api := controllertest.NewAPI(t, free("s"), newClaim("c"))
			r := newReconciler(api)
			old := readClaim(t, api, "c")
			whenTaken(t, api, func() {
				api.Remove(t, old)
				if anew != nil {
					api.Add(t, anew)
				}
			})
			api.Step(t, r, "ns/c") // an error would be somebody's to look at
			api.Settle(t, r, "ns/c")
			s := readServer(t, api, "s")
			if ref := s.Spec.ServerClaimRef; ref == nil || ref.Name != "c" || s.Annotations[metalv1.AnnotationClaimedBy] != string(old.UID) {
				t.Errorf("the server is %v's, marked with %q; the claim was %q", ref, s.Annotations[metalv1.AnnotationClaimedBy], old.UID)
			}
			if !controllertest.Gone[metalv1.ServerBootConfiguration](t, api, "ns/c") {
				t.Error("a boot configuration was made for a claim that is gone")
			}
			switch {
			case anew == nil:
				if !controllertest.Gone[metalv1.ServerClaim](t, api, "ns/c") {
					t.Error("the claim is back")
				}
			case anew.Annotations == nil:
				checkUnbound(t, api, "c", metalv1.ReasonAllMatchingServersBusy)
			}
			if w := api.Writes("Server"); len(w) != 1 {
				t.Errorf("the Server was written to %d times: %v", len(w), w)
			}
			// Another process finds the same.
			api.ForgetWrites()
			api.Settle(t, newReconciler(api), "ns/c")
			if w := api.Writes(""); len(w) != 0 {
				t.Errorf("another process writes %v", w)
			}
		})
	}
}

// whenTaken has something happen once, between the writes of a Server and of its claim.
func whenTaken(t *testing.T, api *controllertest.API, happen func()) {
	t.Helper()
	api.Fail = func(verb string, obj runtime.Object) error {
		if _, ok := obj.(*metalv1.ServerClaim); ok && verb == controllertest.Patch {
			api.Fail = nil
			happen()
		}
		return nil
	}
	t.Cleanup(func() {
		if api.Fail != nil {
			t.Error("the moment did not come")
		}
	})
}

// TestAClaimNamesAServerWhileAnotherIsTakenForIt: it gets what it names, and gives the other back.
func TestAClaimNamesAServerWhileAnotherIsTakenForIt(t *testing.T) {
	for name, named := range map[string]*metalv1.Server{"that is free": free("t"), "of somebody": busy("t")} {
		t.Run(name, func(t *testing.T) {
			api := controllertest.NewAPI(t, free("s"), newClaim("c"))
			r := newReconciler(api)
			whenTaken(t, api, func() {
				api.Add(t, named)
				controllertest.ChangeStatus(t, api, "t", func(s *metalv1.Server) { s.Status = named.Status })
				controllertest.Change(t, api, "ns/c", wants("t"))
			})
			api.Step(t, r, "ns/c")
			api.Settle(t, r, "ns/c")
			uid := string(readClaim(t, api, "c").UID)
			if s := readServer(t, api, "s"); s.Spec.ServerClaimRef != nil || s.Spec.BootConfigurationRef != nil || s.Annotations[metalv1.AnnotationClaimedBy] != uid {
				t.Errorf("what it does not name is still %v's, marked with %q", s.Spec.ServerClaimRef, s.Annotations[metalv1.AnnotationClaimedBy])
			}
			if name == "that is free" {
				checkBound(t, api, "c", "t")
				return
			}
			controllertest.Says(t, readClaim(t, api, "c").Status.Conditions, metalv1.ConditionBound, metav1.ConditionFalse, metalv1.ReasonAllMatchingServersBusy, `"t"`)
		})
	}
}

// TestAnIgnoredClaimHoldsNothingBack: not what it was given before it was ignored, or a claim of its name before it.
func TestAnIgnoredClaimHoldsNothingBack(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("c"))
	r := newReconciler(api)
	if err := r.inform(t.Context()); err != nil {
		t.Fatal(err)
	}
	api.Step(t, r.Reconciler, "ns/c")
	r.matcher.match()
	if _, ok := r.pool.Assumed(readClaim(t, api, "c").UID); !ok {
		t.Fatal("no server is assumed for the claim")
	}
	controllertest.Change(t, api, "ns/c", func(c *metalv1.ServerClaim) {
		c.Annotations = map[string]string{metalv1.AnnotationOperation: metalv1.OperationIgnore}
	})
	api.Step(t, r.Reconciler, "ns/c")
	api.Add(t, newClaim("d"))
	api.Settle(t, r, "ns/d")
	checkBound(t, api, "d", "s")
}

// TestACacheThatLagsIsWaitedFor: what was written a moment ago is not written again of an older claim, to be refused.
func TestACacheThatLagsIsWaitedFor(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("c"))
	r := newReconciler(api)
	lags := api.Lagging(t, &metalv1.ServerClaimList{})
	api.Step(t, r, "ns/c")
	checkBound(t, api, "c", "s")
	api.Fail = func(verb string, obj runtime.Object) error {
		if verb != controllertest.Get && verb != controllertest.List {
			t.Errorf("%s %T", verb, obj)
		}
		return nil
	}
	r.cache.Client = lags
	if result := api.Step(t, r, "ns/c"); result.RequeueAfter != 0 {
		t.Errorf("looked at again after %v; the cache wakes the claim", result.RequeueAfter)
	}
	r.cache.Client = api
	api.Settle(t, r, "ns/c")
	checkBound(t, api, "c", "s")
	if assumed, ok := r.pool.Assumed(readClaim(t, api, "c").UID); ok {
		t.Errorf("assumed for good: %+v", assumed)
	}
}

package claim

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/allocator"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/trouble"
)

// boots says of a claim's boot configuration how it is, and settles the claim.
func boots(t *testing.T, api *controllertest.API, r *stand, state metalv1.ServerBootConfigurationState, problem string) {
	t.Helper()
	controllertest.ChangeStatus(t, api, "ns/c", func(b *metalv1.ServerBootConfiguration) {
		b.Status.State, b.Status.ObservedGeneration, b.Status.Conditions = state, b.Generation, nil
		if problem != "" {
			apimeta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: metalv1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Error", Message: problem})
		}
	})
	api.Settle(t, r, "ns/c")
}

// TestEachStepOfAClaimIsTold: once, in an event of the claim, and of the server where it concerns that; what is wrong in the log, too.
func TestEachStepOfAClaimIsTold(t *testing.T) {
	api := controllertest.NewAPI(t, newClaim("c"))
	r := newReconciler(api)
	var log []string
	api.Logger = funcr.New(func(_, args string) { log = append(log, args) }, funcr.Options{})
	step := func(what string, do func(), events ...string) {
		t.Helper()
		log = nil
		do()
		for range 3 { // again and again: it is told once
			api.Settle(t, r, "ns/c")
		}
		other := newReconciler(api)
		if api.Settle(t, other, "ns/c"); len(other.hears()) > 0 {
			t.Errorf("%s: another process repeats it", what)
		}
		if diff := cmp.Diff(events, r.hears()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", what, diff)
		}
	}
	logged := func(parts ...string) {
		t.Helper()
		for _, part := range parts {
			if len(log) != 1 || !strings.Contains(log[0], part) {
				t.Errorf("the log has %q, want one line with %q", log, part)
			}
		}
	}
	const nobody = "No Server matches the selector of ServerClaim ns/c. Next: Correct spec.serverSelector of ServerClaim ns/c, or label a Server."
	step("there is no server", func() {}, "ServerClaim c: Warning NoMatchingServer No Server exists", "ServerClaim c: Warning Troubled "+nobody)
	logged("ns/c", "NoMatchingServer")
	step("there is a server", func() {
		s := free("s")
		api.Add(t, s)
		controllertest.ChangeStatus(t, api, "s", becomesFree)
	}, "Server s: Normal Claimed ServerClaim ns/c has the server", "ServerClaim c: Normal Allocated Server s is bound to the claim",
		"ServerClaim c: Normal TroubleOver No longer: "+nobody)
	logged("claim has a server")
	step("no image", func() { boots(t, api, r, metalv1.ServerBootConfigurationStateError, "image registry/os:1: not found") },
		"ServerClaim c: Warning BootConfigurationError image registry/os:1: not found")
	logged("ns/c", "image registry/os:1: not found")
	step("another problem", func() { boots(t, api, r, metalv1.ServerBootConfigurationStateError, "registry is not allowed") },
		"ServerClaim c: Warning BootConfigurationError registry is not allowed")
	logged("registry is not allowed")
	step("an image", func() { boots(t, api, r, metalv1.ServerBootConfigurationStateReady, "") },
		"ServerClaim c: Normal BootConfigurationReady ServerBootConfiguration ns/c is ready to boot")
	step("nothing new", func() {})
	step("no server any more", func() { api.Remove(t, readServer(t, api, "s")) }, `ServerClaim c: Warning ServerNotFound spec.serverRef: Server "s" does not exist`,
		"ServerClaim c: Warning Troubled ServerClaim ns/c names a Server that does not exist. Next: Correct spec.serverRef of ServerClaim ns/c.")
}

// TestABoundClaimSaysWhatItsServerSays: a claim that is bound shows why its machine does not boot, with one write and one event at the beginning and at the
// end.
func TestABoundClaimSaysWhatItsServerSays(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("c"))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	boots(t, api, r, metalv1.ServerBootConfigurationStateReady, "")
	r.hears()
	says := func(wrong *trouble.Sentence, events ...string) {
		t.Helper()
		before := readServer(t, api, "s")
		controllertest.ChangeStatus(t, api, "s", func(s *metalv1.Server) { trouble.Say(s, &s.Status.Conditions, wrong, r.clock.Now()) })
		now := readServer(t, api, "s")
		if !trouble.Differ(before.Status.Conditions, now.Status.Conditions) {
			t.Error("nothing wakes the claim")
		}
		api.ForgetWrites()
		for range 3 {
			api.Settle(t, r, "ns/c")
		}
		if got := trouble.SaidBy(readClaim(t, api, "c").Status.Conditions); !cmp.Equal(got, wrong) {
			t.Errorf("it says %v, want %v", got, wrong)
		}
		if diff := cmp.Diff(events, r.hears()); diff != "" {
			t.Errorf("events (-want +got)\n%s", diff)
		}
		if w := api.Writes("ServerClaim"); len(w) != 1 {
			t.Errorf("%d writes: %v", len(w), w)
		}
		checkBound(t, api, "c", "s")
	}
	says(&trouble.Sentence{Reason: "RegistryUnreachable", Text: "The registry does not answer. Next: Bring it back."},
		"ServerClaim c: Warning Troubled The registry does not answer. Next: Bring it back.")
	says(nil, "ServerClaim c: Normal TroubleOver No longer: The registry does not answer. Next: Bring it back.")
}

// TestCountsAreNoNews: a claim that waits says other counts each minute, and makes no event of them.
func TestCountsAreNoNews(t *testing.T) {
	api := controllertest.NewAPI(t, busy("a"), newClaim("c"))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	if got := r.hears(); len(got) != 1 || !strings.HasPrefix(got[0], "ServerClaim c: Normal AllMatchingServersBusy") {
		t.Errorf("told: %q", got)
	}
	api.Add(t, busy("b"))
	r.clock.Step(2 * repeatAfter)
	api.Settle(t, r, "ns/c")
	checkUnbound(t, api, "c", metalv1.ReasonAllMatchingServersBusy, "2 Servers match")
	if got := r.hears(); len(got) != 0 {
		t.Errorf("told again: %q", got)
	}
}

// TestALongProblemFitsIntoAnEvent: the API refuses longer ones.
func TestALongProblemFitsIntoAnEvent(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("c"))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	r.hears()
	boots(t, api, r, metalv1.ServerBootConfigurationStateError, strings.Repeat("ä", 2000))
	got := r.hears()
	if len(got) != 1 {
		t.Fatalf("told: %q", got)
	}
	if note := strings.TrimPrefix(got[0], "ServerClaim c: Warning BootConfigurationError "); len(note) > 1024 || !strings.HasSuffix(note, "ä…") {
		t.Errorf("its note has %d bytes", len(note))
	}
}

// TestAPowerThatMeansNothingIsSaid: of a claim that waits, and of one that is bound.
func TestAPowerThatMeansNothingIsSaid(t *testing.T) {
	for _, power := range []metalv1.Power{"on", "Sideways", ""} {
		api := controllertest.NewAPI(t, busy("s"), newClaim("c", func(c *metalv1.ServerClaim) { c.Spec.Power = power }))
		r := newReconciler(api)
		says := func() {
			t.Helper()
			controllertest.Says(t, readClaim(t, api, "c").Status.Conditions, metalv1.ConditionBootReady, metav1.ConditionFalse, metalv1.ReasonInvalidSpec,
				"spec.power", string(power), "neither On nor Off")
		}
		api.Settle(t, r, "ns/c")
		says()
		api.Add(t, free("t"))
		controllertest.ChangeStatus(t, api, "t", becomesFree)
		api.Settle(t, r, "ns/c")
		checkBound(t, api, "c", "t")
		says()
		warned := 0
		for _, event := range r.hears() {
			if strings.Contains(event, "Warning InvalidSpec spec.power") {
				warned++
			}
		}
		if warned != 1 {
			t.Errorf("power %q is told of in %d events", power, warned)
		}
		controllertest.Change(t, api, "ns/c", func(c *metalv1.ServerClaim) { c.Spec.Power = metalv1.PowerOn })
		api.Settle(t, r, "ns/c")
		controllertest.Says(t, readClaim(t, api, "c").Status.Conditions, metalv1.ConditionBootReady, metav1.ConditionFalse, reasonBootPending)
	}
}

// TestAClaimOfAServerWithoutANameGetsNone: what it would have could not be written into it.
func TestAClaimOfAServerWithoutANameGetsNone(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("c", wants("")))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	checkUnbound(t, api, "c", allocator.ReasonInvalidName, "spec.serverRef has no name")
	if s := readServer(t, api, "s"); s.Spec.ServerClaimRef != nil {
		t.Errorf("the server is %v's", s.Spec.ServerClaimRef)
	}
}

// TestIgnitionWithoutANameIsNone: the boot configuration says the same as if the claim had left it out.
func TestIgnitionWithoutANameIsNone(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("c", func(c *metalv1.ServerClaim) { c.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{} }))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	if config := controllertest.Read[metalv1.ServerBootConfiguration](t, api, "ns/c"); config.Spec.IgnitionSecretRef != nil {
		t.Errorf("it has ignition %v", config.Spec.IgnitionSecretRef)
	}
}

// TestAnOperationOnAClaimIsRemoved: there is none, and it says so.
func TestAnOperationOnAClaimIsRemoved(t *testing.T) {
	for _, operation := range []string{"dance", "", metalv1.OperationRetry} {
		api := controllertest.NewAPI(t, free("s"), newClaim("c"))
		r := newReconciler(api)
		api.Settle(t, r, "ns/c")
		r.hears()
		controllertest.Change(t, api, "ns/c", func(c *metalv1.ServerClaim) {
			c.Annotations = map[string]string{metalv1.AnnotationOperation: operation, "example.org/other": "x"}
		})
		api.Settle(t, r, "ns/c")
		checkBound(t, api, "c", "s")
		c := readClaim(t, api, "c")
		if _, still := c.Annotations[metalv1.AnnotationOperation]; still || c.Annotations["example.org/other"] != "x" {
			t.Errorf("annotations %v", c.Annotations)
		}
		if got := r.hears(); len(got) != 1 || !strings.Contains(got[0], "ServerClaim c: Warning UnsupportedOperation") || !strings.Contains(got[0], operation) {
			t.Errorf("%q: told %q", operation, got)
		}
	}
}

// TestAnotherBootProviderSaysReady: it does not say for which generation.
func TestAnotherBootProviderSaysReady(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("c"))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	says := func(state metalv1.ServerBootConfigurationState, observed int64, conditions ...metav1.Condition) []metav1.Condition {
		t.Helper()
		controllertest.ChangeStatus(t, api, "ns/c", func(b *metalv1.ServerBootConfiguration) {
			b.Status = metalv1.ServerBootConfigurationStatus{State: state, ObservedGeneration: observed, Conditions: conditions}
		})
		api.Settle(t, r, "ns/c")
		return readClaim(t, api, "c").Status.Conditions
	}
	says(metalv1.ServerBootConfigurationStateReady, 0)
	controllertest.Says(t, readClaim(t, api, "c").Status.Conditions, metalv1.ConditionBootReady, metav1.ConditionFalse, reasonBootPending)
	r.ForeignBoot = true
	controllertest.Says(t, says(metalv1.ServerBootConfigurationStateReady, 0), metalv1.ConditionBootReady, metav1.ConditionTrue, reasonBootReady)
	controllertest.Says(t, says(metalv1.ServerBootConfigurationStateReady, 7), metalv1.ConditionBootReady, metav1.ConditionFalse, reasonBootPending)
	controllertest.Says(t, says(metalv1.ServerBootConfigurationStateError, 0), metalv1.ConditionBootReady, metav1.ConditionFalse, reasonBootError, "gives no reason")
	controllertest.Says(t, says(metalv1.ServerBootConfigurationStateError, 0, metav1.Condition{
		Type: metalv1.ConditionImageValidation, Status: metav1.ConditionFalse, Reason: "ValidationFailed", Message: "no kernel",
	}), metalv1.ConditionBootReady, metav1.ConditionFalse, reasonBootError, "ImageValidation: no kernel")
}

// TestThePowerOfAMachineIsTold: each step once, also where an order fails and is given again and again; and from the process that looks
// after the claim.
func TestThePowerOfAMachineIsTold(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("c"))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	r.hears()
	says := func(kind string, status metav1.ConditionStatus, reason string) {
		t.Helper()
		controllertest.ChangeStatus(t, api, "s", func(s *metalv1.Server) {
			s.Status.Conditions = nil
			for _, other := range []string{metalv1.ConditionPoweringOn, metalv1.ConditionWaitingForPowerOff} {
				apimeta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: other, Status: metav1.ConditionFalse, Reason: "Idle"})
			}
			apimeta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "says " + reason})
		})
		api.Settle(t, r, "ns/c")
	}
	heard := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, r.hears()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	on, off := metalv1.ConditionPoweringOn, metalv1.ConditionWaitingForPowerOff
	says(on, metav1.ConditionTrue, "BootOrdered")
	heard("ServerClaim c: Normal BootOrdered says BootOrdered")
	for range 3 {
		says(on, metav1.ConditionTrue, "CommandFailed")
		says(on, metav1.ConditionTrue, "BootOrdered")
	}
	heard("ServerClaim c: Warning CommandFailed says CommandFailed")
	says(on, metav1.ConditionTrue, "SelfTest")
	heard()
	says(on, metav1.ConditionFalse, "Started")
	says(on, metav1.ConditionFalse, "Started")
	heard("ServerClaim c: Normal Started says Started")
	says(off, metav1.ConditionTrue, "ShuttingDown")
	says(off, metav1.ConditionFalse, "Idle")
	heard("ServerClaim c: Normal ShuttingDown says ShuttingDown")
	says(on, metav1.ConditionTrue, "BootOrdered")
	heard("ServerClaim c: Normal BootOrdered says BootOrdered")
	r = newReconciler(api) // another process
	api.Settle(t, r, "ns/c")
	heard()
	says(on, metav1.ConditionFalse, "Started")
	heard("ServerClaim c: Normal Started says Started")
	if w := api.Writes("ServerClaim"); len(w) != 2 {
		t.Errorf("the claim was written to for it: %v", w)
	}
}

// TestNothingToBootIsNoFailure: it is said, and no warning.
func TestNothingToBootIsNoFailure(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("c", func(c *metalv1.ServerClaim) { c.Spec.Image = "" }))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	r.hears()
	boots(t, api, r, metalv1.ServerBootConfigurationStateError, "spec.image is empty")
	if diff := cmp.Diff([]string{"ServerClaim c: Normal BootConfigurationError spec.image is empty"}, r.hears()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

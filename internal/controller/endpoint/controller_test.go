package endpoint

import (
	"errors"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc/macprefix"
	"github.com/farrier-dev/farrier/internal/controller/bmcsecret"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

const acme = "02:FA-44.00 00:01"

func reconciler(t *testing.T, api *controllertest.API) *Reconciler {
	t.Helper()
	db, err := macprefix.New(
		macprefix.Entry{
			Prefix: "02fa44", Manufacturer: "ACME", ProtocolScheme: "http", Port: 8000, Type: "bmc", Console: macprefix.Console{Type: "SSH", Port: 22},
			DefaultCredentials: []macprefix.Credential{{Username: "admin", Password: "factory"}, {Username: "root", Password: "calvin"}},
		},
		macprefix.Entry{Prefix: "aa0000", Manufacturer: "Silent"},
		macprefix.Entry{Prefix: "bb0000", Type: "switch", DefaultCredentials: []macprefix.Credential{{Username: "u", Password: "p"}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	return &Reconciler{Client: api, Prefixes: db, Begun: bmcsecret.NewBegun(), Clock: clock.RealClock{}}
}

func endpoint(name, mac string) *metalv1.Endpoint {
	e := &metalv1.Endpoint{ObjectMeta: metav1.ObjectMeta{Name: name}}
	e.Spec.MACAddress, e.Spec.IP = mac, "10.0.0.1"
	return e
}

func conditions(t *testing.T, api *controllertest.API, name string) []metav1.Condition {
	t.Helper()
	return controllertest.Read[metalv1.Endpoint](t, api, name).Status.Conditions
}

func TestAKnownPrefixBecomesABMCWithItsCredentials(t *testing.T) {
	api := controllertest.NewAPI(t, endpoint("e", acme))
	r := reconciler(t, api)
	api.Settle(t, r, "e")

	secret := controllertest.Read[metalv1.BMCSecret](t, api, "e")
	if u, p := string(secret.Data["username"]), string(secret.Data["password"]); u != "admin" || p != "factory" {
		t.Errorf("the credentials are %s:%s", u, p)
	}
	trial, err := bmcsecret.Parse(secret.Annotations[metalv1.AnnotationDefaultCredentials])
	if err != nil || len(trial.Attempts) != 1 || !r.Begun.Has(secret.UID) {
		t.Errorf("nobody can tell that they are default ones, to be tried once: %+v, %v", trial, err)
	}
	bmc := controllertest.Read[metalv1.BMC](t, api, "e")
	if bmc.Spec.EndpointRef == nil || bmc.Spec.EndpointRef.Name != "e" || bmc.Spec.BMCSecretRef.Name != "e" || bmc.Spec.Access != nil {
		t.Errorf("the BMC refers to %+v", bmc.Spec)
	}
	if p := bmc.Spec.Protocol; p.Name != metalv1.ProtocolRedfish || p.Scheme != metalv1.SchemeHTTP || p.Port != 8000 {
		t.Errorf("the BMC is spoken to by %+v", p)
	}
	if c := bmc.Spec.ConsoleProtocol; c == nil || c.Name != metalv1.ConsoleProtocolSSH || c.Port != 22 {
		t.Errorf("its console is %+v", c)
	}
	if len(bmc.OwnerReferences) != 0 {
		t.Errorf("the garbage collector would delete the BMC with its Endpoint: %v", bmc.OwnerReferences)
	}
	if said := conditions(t, api, "e"); len(said) != 0 {
		t.Errorf("the BMC says it already: %v", said)
	}
}

// TestAnEndpointThatIsRecognisedLaterSaysSo: what its condition said before is no longer so.
func TestAnEndpointThatIsRecognisedLaterSaysSo(t *testing.T) {
	api := controllertest.NewAPI(t, endpoint("e", "cc:00:00:00:00:01"))
	r := reconciler(t, api)
	api.Settle(t, r, "e")
	controllertest.Says(t, conditions(t, api, "e"), ConditionRecognised, metav1.ConditionFalse, ReasonUnknownPrefix)
	controllertest.Change(t, api, "e", func(e *metalv1.Endpoint) { e.Spec.MACAddress = acme })
	api.Settle(t, r, "e")
	e := controllertest.Read[metalv1.Endpoint](t, api, "e")
	controllertest.Says(t, e.Status.Conditions, ConditionRecognised, metav1.ConditionTrue, ReasonBMCCreated, "ACME", "http")
	if e.Status.ObservedGeneration != e.Generation {
		t.Errorf("the status is about generation %d, and the Endpoint has %d", e.Status.ObservedGeneration, e.Generation)
	}
}

func TestWhatIsNoBMCSaysWhyAndMakesNothing(t *testing.T) {
	for name, tc := range map[string]struct{ mac, reason, says string }{
		"unknown prefix":         {"cc:00:00:00:00:01", ReasonUnknownPrefix, "cc:00:00:00:00:01"},
		"invalid MAC address":    {"cc:00", ReasonInvalidMAC, "spec.macAddress"},
		"no MAC address":         {"", ReasonInvalidMAC, "spec.macAddress"},
		"no default credentials": {"aa:00:00:00:00:01", ReasonNoCredentials, "aa0000"},
		"known, and no BMC":      {"bb:00:00:00:00:01", ReasonNotABMC, "switch"},
	} {
		t.Run(name, func(t *testing.T) {
			api := controllertest.NewAPI(t, endpoint("e", tc.mac))
			api.Settle(t, reconciler(t, api), "e")
			controllertest.Says(t, conditions(t, api, "e"), ConditionRecognised, metav1.ConditionFalse, tc.reason, tc.says)
			if !controllertest.Gone[metalv1.BMC](t, api, "e") || !controllertest.Gone[metalv1.BMCSecret](t, api, "e") {
				t.Error("something was made of it")
			}
		})
	}
}

func TestOfTwoWithOneMACTheOlderWins(t *testing.T) {
	older, younger := endpoint("z", acme), endpoint("a", "02fa44000001")
	older.CreationTimestamp = metav1.NewTime(controllertest.Start.Add(-time.Hour))
	api := controllertest.NewAPI(t, older, younger)
	r := reconciler(t, api)
	api.Settle(t, r, "a")
	api.Settle(t, r, "z")
	controllertest.Says(t, conditions(t, api, "a"), ConditionRecognised, metav1.ConditionFalse, ReasonDuplicateMAC, `"z"`)
	if controllertest.Gone[metalv1.BMC](t, api, "z") || !controllertest.Gone[metalv1.BMC](t, api, "a") {
		t.Error("both became BMCs, or none")
	}

	// The younger is woken when the older is gone.
	api.Remove(t, older)
	if got := r.rivals(t.Context(), older); !slices.Equal(got, []reconcile.Request{{NamespacedName: client.ObjectKey{Name: "a"}}}) {
		t.Errorf("the end of the older one wakes %v", got)
	}
	api.Settle(t, r, "a")
	controllertest.Says(t, conditions(t, api, "a"), ConditionRecognised, metav1.ConditionTrue, ReasonBMCCreated)
}

func TestOfTwoOfOneSecondTheFirstNameWins(t *testing.T) {
	api := controllertest.NewAPI(t, endpoint("a", acme), endpoint("b", acme))
	r := reconciler(t, api)
	api.Settle(t, r, "b")
	api.Settle(t, r, "a")
	controllertest.Says(t, conditions(t, api, "b"), ConditionRecognised, metav1.ConditionFalse, ReasonDuplicateMAC)
	if controllertest.Gone[metalv1.BMC](t, api, "a") || !controllertest.Gone[metalv1.BMC](t, api, "b") {
		t.Error("both became BMCs, or none")
	}
}

func TestEndpointsWithoutAMACAreNoDuplicates(t *testing.T) {
	api := controllertest.NewAPI(t, endpoint("a", ""), endpoint("b", ""))
	r := reconciler(t, api)
	api.Settle(t, r, "b")
	controllertest.Says(t, conditions(t, api, "b"), ConditionRecognised, metav1.ConditionFalse, ReasonInvalidMAC)
	if got := r.rivals(t.Context(), endpoint("a", "")); len(got) != 0 {
		t.Errorf("an Endpoint without MAC address wakes %v", got)
	}
}

func TestChangedCredentialsAreNeverOverwritten(t *testing.T) {
	api := controllertest.NewAPI(t, endpoint("e", acme))
	r := reconciler(t, api)
	api.Settle(t, r, "e")
	controllertest.Change(t, api, "e", func(s *metalv1.BMCSecret) { s.Data["password"] = []byte("own") })
	controllertest.Change(t, api, "e", func(e *metalv1.Endpoint) { e.Spec.IP = "10.0.0.2" })
	api.Settle(t, r, "e")
	api.Remove(t, controllertest.Read[metalv1.BMC](t, api, "e"))
	api.Settle(t, r, "e")
	if p := string(controllertest.Read[metalv1.BMCSecret](t, api, "e").Data["password"]); p != "own" {
		t.Errorf("the password is %q again", p)
	}
}

func TestABMCWithOtherCredentialsGetsNoDefaultOnes(t *testing.T) {
	own := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: "e"}}
	own.Spec.EndpointRef = &metalv1.LocalObjectReference{Name: "e"}
	own.Spec.BMCSecretRef.Name = "vault"
	api := controllertest.NewAPI(t, endpoint("e", acme), own)
	api.Settle(t, reconciler(t, api), "e")
	if said := conditions(t, api, "e"); len(said) != 0 {
		t.Errorf("the Endpoint says %v", said)
	}
	if !controllertest.Gone[metalv1.BMCSecret](t, api, "e") {
		t.Error("default credentials that nobody asked for lie about")
	}
}

func TestATakenNameIsSaidAndLeftAlone(t *testing.T) {
	foreign := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: "e"}}
	foreign.Spec.Access = &metalv1.InlineEndpoint{IP: "10.0.0.9"}
	foreign.Spec.BMCSecretRef.Name = "e"
	api := controllertest.NewAPI(t, endpoint("e", acme), foreign)
	r := reconciler(t, api)
	api.Settle(t, r, "e")
	controllertest.Says(t, conditions(t, api, "e"), ConditionRecognised, metav1.ConditionFalse, ReasonNameTaken, `"e"`)
	if len(api.Writes("BMC")) != 0 || !controllertest.Gone[metalv1.BMCSecret](t, api, "e") {
		t.Errorf("something was written beside the condition: %v", api.Writes(""))
	}

	api.Remove(t, foreign)
	if got := ofBMC(t.Context(), foreign); !slices.Contains(got, reconcile.Request{NamespacedName: client.ObjectKey{Name: "e"}}) {
		t.Errorf("the end of the BMC that is in the way wakes %v", got)
	}
	api.Settle(t, r, "e")
	controllertest.Says(t, conditions(t, api, "e"), ConditionRecognised, metav1.ConditionTrue, ReasonBMCCreated)
}

func TestADeletedBMCIsMadeAnew(t *testing.T) {
	api := controllertest.NewAPI(t, endpoint("e", acme))
	r := reconciler(t, api)
	api.Settle(t, r, "e")
	bmc := controllertest.Read[metalv1.BMC](t, api, "e")
	if !slices.Equal(bmc.Finalizers, []string{metalv1.FinalizerBMC}) {
		t.Errorf("it is made with finalizers %v", bmc.Finalizers)
	}
	api.Remove(t, bmc)
	controllertest.Change(t, api, "e", func(b *metalv1.BMC) { b.Finalizers = nil }) // as the BMC's controller does
	if got := ofBMC(t.Context(), bmc); !slices.Equal(got, []reconcile.Request{{NamespacedName: client.ObjectKey{Name: "e"}}}) {
		t.Errorf("its end wakes %v", got)
	}
	api.Settle(t, r, "e")
	if again := controllertest.Read[metalv1.BMC](t, api, "e"); again.UID == bmc.UID {
		t.Error("that is the old BMC")
	}
}

func TestNothingIsWrittenTwice(t *testing.T) {
	api := controllertest.NewAPI(t, endpoint("e", acme))
	r := reconciler(t, api)
	api.Settle(t, r, "e")
	api.ForgetWrites()
	api.Step(t, r, "e")
	if w := api.Writes(""); len(w) != 0 {
		t.Errorf("an Endpoint that has all is written to: %v", w)
	}
}

func TestAnIgnoredEndpointIsLeftAlone(t *testing.T) {
	e := endpoint("e", acme)
	e.Annotations = map[string]string{metalv1.AnnotationOperation: metalv1.OperationIgnore}
	api := controllertest.NewAPI(t, e)
	api.Settle(t, reconciler(t, api), "e")
	if w := api.Writes(""); len(w) != 0 {
		t.Errorf("written: %v", w)
	}
}

func TestTheFinalizerOfAnotherInstallationHoldsNothingBack(t *testing.T) {
	e := endpoint("e", acme)
	e.Finalizers = []string{metalv1.FinalizerEndpoint}
	api := controllertest.NewAPI(t, e)
	api.Remove(t, e)
	api.Settle(t, reconciler(t, api), "e")
	if !controllertest.Gone[metalv1.Endpoint](t, api, "e") {
		t.Error("the Endpoint cannot end")
	}
}

// TestADeletedEndpointTakesNothingAlong: what was made of it is looked after as before, and belongs to nobody else.
func TestADeletedEndpointTakesNothingAlong(t *testing.T) {
	e := endpoint("e", acme)
	api := controllertest.NewAPI(t, e)
	r := reconciler(t, api)
	api.Settle(t, r, "e")
	api.Remove(t, controllertest.Read[metalv1.Endpoint](t, api, "e"))
	api.Settle(t, r, "e")
	if !controllertest.Gone[metalv1.Endpoint](t, api, "e") {
		t.Error("the Endpoint cannot end")
	}
	bmc, secret := controllertest.Read[metalv1.BMC](t, api, "e"), controllertest.Read[metalv1.BMCSecret](t, api, "e")
	for _, obj := range []client.Object{bmc, secret} {
		if obj.GetDeletionTimestamp() != nil || len(obj.GetOwnerReferences()) != 0 {
			t.Errorf("%s: deleted %v, owners %v", obj.GetName(), obj.GetDeletionTimestamp(), obj.GetOwnerReferences())
		}
	}
}

// TestWhatOthersMadeOfAnEndpointOutlivesIt: their finalizer holds the Endpoint until nothing is owned by it that the garbage collector would delete.
func TestWhatOthersMadeOfAnEndpointOutlivesIt(t *testing.T) {
	owners := []metav1.OwnerReference{{APIVersion: metalv1.GroupVersion.String(), Kind: "Endpoint", Name: "e", UID: "e"}}
	bmc := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: "renamed", OwnerReferences: owners}}
	bmc.Spec.EndpointRef = &metalv1.LocalObjectReference{Name: "e"}
	bmc.Spec.BMCSecretRef.Name = "s"
	used := &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "s", OwnerReferences: owners}}
	unused := &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "e", OwnerReferences: owners}}
	e := endpoint("e", acme)
	e.Finalizers = []string{metalv1.FinalizerEndpoint}
	api := controllertest.NewAPI(t, e, bmc, used, unused)
	api.Remove(t, e)
	r := reconciler(t, api)
	api.Fail = func(verb string, obj runtime.Object) error {
		if o, ok := obj.(client.Object); ok && verb == controllertest.Patch && o.GetName() == "s" {
			return errors.New("etcd is away")
		}
		return nil
	}
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: controllertest.Key("e")}); err == nil || controllertest.Gone[metalv1.Endpoint](t, api, "e") {
		t.Errorf("the Endpoint went before what it owns was safe: %v", err)
	}
	api.Fail = nil
	api.Settle(t, r, "e")
	if !controllertest.Gone[metalv1.Endpoint](t, api, "e") {
		t.Error("the Endpoint cannot end")
	}
	for _, obj := range []client.Object{
		controllertest.Read[metalv1.BMC](t, api, "renamed"), controllertest.Read[metalv1.BMCSecret](t, api, "s"), controllertest.Read[metalv1.BMCSecret](t, api, "e"),
	} {
		if len(obj.GetOwnerReferences()) != 0 {
			t.Errorf("%T %s is owned by %v", obj, obj.GetName(), obj.GetOwnerReferences())
		}
	}
}

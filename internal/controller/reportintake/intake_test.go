package reportintake

import (
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/inspection"
)

const (
	namespace = "farrier-system"
	uuid      = "4c4c4544-0043-3510-8052-b7c04f4e4d32"
)

// discovering is a Server whose probe was booted, in the attempt of that ID.
func discovering(name, id string) []client.Object {
	s := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name}}
	s.Spec.SystemUUID = "4C4C4544-0043-3510-8052-B7C04F4E4D32"
	s.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: namespace, Name: name}
	return []client.Object{s, booted(namespace, name, id)}
}

func booted(namespace, name, id string) *metalv1.ServerBootConfiguration {
	var none *bootattempt.Attempt
	c := &metalv1.ServerBootConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	c.Annotations = map[string]string{metalv1.AnnotationBootAttempt: none.Next(id, controllertest.Start).SeenOn(controllertest.Start).String()}
	return c
}

func intake(t *testing.T, objects ...client.Object) (*Intake, *controllertest.API) {
	t.Helper()
	api := controllertest.NewAPI(t, objects...)
	return &Intake{Client: api, APIReader: api, Namespace: namespace, Clock: api.Clock}, api
}

func registration(attempt string) inspection.Registration {
	return inspection.Registration{SystemUUID: uuid, Attempt: attempt, Raw: []byte(`{"agentVersion":"` + attempt + `"}`)}
}

func stored(t *testing.T, api *controllertest.API, server string) inspection.Registration {
	t.Helper()
	obj := controllertest.Read[corev1.ConfigMap](t, api, namespace+"/"+server+"-inspection")
	r, err := inspection.Unpack(obj.BinaryData[machinerecord.Key], 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if obj.Annotations[machinerecord.AnnotationAttempt] != r.Attempt || machinerecord.ServerOf(obj) != server {
		t.Errorf("the record says of itself %v", obj.Annotations)
	}
	return r
}

func TestAReportIsStored(t *testing.T) {
	i, api := intake(t, discovering("s", "a")...)
	if err := i.Register(t.Context(), registration("a")); err != nil {
		t.Fatal(err)
	}
	if r := stored(t, api, "s"); r.Attempt != "a" || r.SystemUUID != uuid || string(r.Raw) != `{"agentVersion":"a"}` {
		t.Errorf("stored: %+v %s", r, r.Raw)
	}
}

func TestAReportThatIsNotStoredIsNotAcknowledged(t *testing.T) {
	i, api := intake(t, discovering("s", "a")...)
	api.Fail = func(verb string, obj runtime.Object) error {
		if _, record := obj.(*corev1.ConfigMap); record && verb == controllertest.Create {
			return errors.New("etcd is full")
		}
		return nil
	}
	if err := i.Register(t.Context(), registration("a")); err == nil {
		t.Error("it was acknowledged")
	}
	api.Fail = nil
	if err := i.Register(t.Context(), registration("a")); err != nil {
		t.Error(err)
	}
}

func TestAReportSentTwiceChangesNothing(t *testing.T) {
	i, api := intake(t, discovering("s", "a")...)
	for range 2 {
		if err := i.Register(t.Context(), registration("a")); err != nil {
			t.Fatal(err)
		}
	}
	first := stored(t, api, "s")

	// And once more when discovery has ended meanwhile: the agent did not hear the answer.
	controllertest.Change(t, api, "s", func(s *metalv1.Server) { s.Spec.BootConfigurationRef = nil })
	api.ForgetWrites()
	if err := i.Register(t.Context(), registration("a")); err != nil {
		t.Error(err)
	}
	if w := api.Writes(""); len(w) != 0 || string(stored(t, api, "s").Raw) != string(first.Raw) {
		t.Errorf("written: %v", w)
	}
}

func TestALaterDiscoveryReplacesTheReport(t *testing.T) {
	i, api := intake(t, discovering("s", "a")...)
	if err := i.Register(t.Context(), registration("a")); err != nil {
		t.Fatal(err)
	}
	controllertest.Change(t, api, namespace+"/s", func(c *metalv1.ServerBootConfiguration) { c.Annotations = booted("", "", "b").Annotations })
	if err := i.Register(t.Context(), registration("b")); err != nil {
		t.Fatal(err)
	}
	if r := stored(t, api, "s"); r.Attempt != "b" {
		t.Errorf("stored is the report of %s", r.Attempt)
	}
	if err := i.Register(t.Context(), registration("a")); !errors.Is(err, ErrNoAttempt) {
		t.Errorf("a report of the attempt before: %v", err)
	}
}

func TestReportsThatAreRefused(t *testing.T) {
	prepared := booted(namespace, "s", "a")
	prepared.Annotations[metalv1.AnnotationBootAttempt] = (&bootattempt.Attempt{ID: "a", Number: 1}).String()
	server := discovering("s", "a")[0]
	claimed := discovering("s", "a")[0].(*metalv1.Server)
	claimed.Spec.BootConfigurationRef.Namespace, claimed.Spec.BootConfigurationRef.Name = "ns", "claim"
	for name, tc := range map[string]struct {
		objects []client.Object
		attempt string
		want    error
	}{
		"of an unknown machine":       {nil, "a", ErrUnknownMachine},
		"of another attempt":          {discovering("s", "a"), "b", ErrNoAttempt},
		"of one that is not open yet": {[]client.Object{server, prepared}, "a", ErrNoAttempt},
		"of none, which is not open":  {[]client.Object{server.DeepCopyObject().(client.Object), prepared.DeepCopy()}, "", ErrNoAttempt},
		"with nothing to boot":        {[]client.Object{server.DeepCopyObject().(client.Object)}, "a", ErrNoAttempt},
		"from a claimed machine":      {[]client.Object{claimed, booted("ns", "claim", "a")}, "a", ErrNoAttempt},
	} {
		t.Run(name, func(t *testing.T) {
			i, api := intake(t, tc.objects...)
			if err := i.Register(t.Context(), registration(tc.attempt)); !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
			if w := api.Writes(""); len(w) != 0 {
				t.Errorf("written: %v", w)
			}
		})
	}
}

func TestAReportWithoutATokenBelongsToTheOpenAttempt(t *testing.T) {
	i, api := intake(t, discovering("s", "a")...)
	if err := i.Register(t.Context(), registration("")); err != nil {
		t.Fatal(err)
	}
	if r := stored(t, api, "s"); r.Attempt != "a" {
		t.Errorf("stored is the report of %q", r.Attempt)
	}
}

// TestOfTwoServersWithOneUUIDTheAttemptDecides: somebody wrote a second Server for a machine by hand.
func TestOfTwoServersWithOneUUIDTheAttemptDecides(t *testing.T) {
	double := discovering("a-double", "x")[0].(*metalv1.Server)
	double.Spec.BootConfigurationRef = nil
	i, api := intake(t, append(discovering("s", "a"), double)...)
	if err := i.Register(t.Context(), registration("a")); err != nil {
		t.Fatal(err)
	}
	stored(t, api, "s")
}

func TestABootStateBecomesACondition(t *testing.T) {
	server := discovering("s", "a")[0].(*metalv1.Server)
	server.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: "ns", Name: "claim"}
	i, api := intake(t, server, booted("ns", "claim", "a"))
	conditions := func() []metav1.Condition {
		return controllertest.Read[metalv1.ServerBootConfiguration](t, api, "ns/claim").Status.Conditions
	}
	for range 2 {
		if err := i.BootState(t.Context(), inspection.BootState{SystemUUID: uuid, Attempt: "a", Booted: true}); err != nil {
			t.Fatal(err)
		}
	}
	controllertest.Says(t, conditions(), metalv1.ConditionBootStateReceived, metav1.ConditionTrue, "Booted", "a")
	if w := api.Writes(""); len(w) != 1 {
		t.Errorf("written twice: %v", w)
	}
	if err := i.BootState(t.Context(), inspection.BootState{SystemUUID: uuid, Attempt: "before", Booted: false}); !errors.Is(err, ErrNoAttempt) {
		t.Errorf("of another attempt: %v", err)
	}
	if err := i.BootState(t.Context(), inspection.BootState{SystemUUID: uuid, Booted: false}); err != nil {
		t.Fatal(err)
	}
	controllertest.Says(t, conditions(), metalv1.ConditionBootStateReceived, metav1.ConditionFalse, "NotBooted")
	if err := i.BootState(t.Context(), inspection.BootState{SystemUUID: "unknown"}); !errors.Is(err, ErrUnknownMachine) {
		t.Errorf("of an unknown machine: %v", err)
	}
	controllertest.Change(t, api, "s", func(s *metalv1.Server) { s.Spec.BootConfigurationRef = nil })
	if err := i.BootState(t.Context(), inspection.BootState{SystemUUID: uuid, Attempt: "a"}); !errors.Is(err, ErrNoAttempt) {
		t.Errorf("of a machine with nothing to boot: %v", err)
	}
}

// TestAReportThatNoObjectCanHoldIsRefusedForGood: random bytes do not become smaller.
func TestAReportThatNoObjectCanHoldIsRefusedForGood(t *testing.T) {
	i, api := intake(t, discovering("s", "a")...)
	r := registration("a")
	noise := make([]byte, maxRecord)
	source := rand.NewPCG(1, 2)
	for n := range noise {
		noise[n] = byte(source.Uint64())
	}
	r.Raw = []byte(`{"agentVersion":"` + base64.StdEncoding.EncodeToString(noise) + `"}`)
	if err := i.Register(t.Context(), r); !errors.Is(err, inspection.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if w := api.Writes("ConfigMap"); len(w) != 0 {
		t.Errorf("written: %v", w)
	}
}

// TestABootStateIsAcknowledgedAgain: with boot policy Once it closes the attempt that its token is of.
func TestABootStateIsAcknowledgedAgain(t *testing.T) {
	i, api := intake(t, discovering("s", "a")...)
	state := inspection.BootState{SystemUUID: uuid, Attempt: "a", Booted: true}
	if err := i.BootState(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	controllertest.Change(t, api, namespace+"/s", func(c *metalv1.ServerBootConfiguration) {
		c.Annotations[metalv1.AnnotationBootAttempt] = bootattempt.Of(c).SeenInstalled(controllertest.Start).String()
	})
	api.ForgetWrites()
	if err := i.BootState(t.Context(), state); err != nil || len(api.Writes("")) != 0 {
		t.Errorf("%v, written %v", err, api.Writes(""))
	}
	state.Attempt = "b"
	if err := i.BootState(t.Context(), state); err == nil {
		t.Error("a boot of another attempt was acknowledged")
	}
}

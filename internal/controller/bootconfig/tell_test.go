package bootconfig

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// told collects events: "<kind>: <type> <reason> <note>".
type told struct{ events []string }

func (e *told) Eventf(about, _ runtime.Object, kind, reason, _, note string, args ...any) {
	e.events = append(e.events, fmt.Sprintf("%s: %s %s %s", reflect.TypeOf(about.(client.Object)).Elem().Name(), kind, reason, fmt.Sprintf(note, args...)))
}

// hears checks how the events begin that came since it was asked last.
func (e *told) hears(t *testing.T, what string, want ...string) {
	t.Helper()
	if len(e.events) != len(want) {
		t.Errorf("%s: told %q, want %q", what, e.events, want)
	}
	for i := range min(len(want), len(e.events)) {
		if !strings.HasPrefix(e.events[i], want[i]) {
			t.Errorf("%s: told %q, want %q", what, e.events[i], want[i])
		}
	}
	e.events = nil
}

// boots has the Server of a stand refer to the boot configuration.
func (s *stand) boots(t *testing.T) {
	t.Helper()
	controllertest.Change(t, s.API, "s", func(o *metalv1.Server) {
		o.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: "ns", Name: "c"}
	})
}

// TestWhatCannotBeBootedIsTold: on the boot configuration and on the Server, once, and in the log.
func TestWhatCannotBeBootedIsTold(t *testing.T) {
	s := newStand(t, newConfig("registry.example.org/os:1"))
	p := s.push(t, "1", kernel)
	events := &told{}
	var log []string
	s.Reconciler.Recorder, s.API.Logger = events, funcr.New(func(_, args string) { log = append(log, args) }, funcr.Options{})
	s.boots(t)
	checkState(t, s.settle(t), metalv1.ServerBootConfigurationStateError, "registry.example.org")
	events.hears(t, "a registry that is not allowed", "ServerBootConfiguration: Warning ImageNotResolved image registry.example.org/os:1: ",
		"Server: Warning BootConfigurationError Boot configuration ns/c: image registry.example.org/os:1: ")
	if len(log) != 1 || !strings.Contains(log[0], "ns/c") || !strings.Contains(log[0], "registry.example.org") {
		t.Errorf("the log has %q", log)
	}
	s.Step(t, s.Reconciler, "ns/c")
	events.hears(t, "the same again")
	controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) { c.Spec.Image = p.Reference })
	s.resolved(t)
	events.hears(t, "an image that is being prepared")
	checkState(t, s.delivered(t), metalv1.ServerBootConfigurationStateReady)
	events.hears(t, "an image that can be booted", "ServerBootConfiguration: Normal BootConfigurationReady", "Server: Normal BootConfigurationReady Boot configuration ns/c")
	controllertest.ChangeStatus(t, s.API, "ns/c", func(c *bootv1.IPXEBootConfig) {
		c.Status.State = bootv1.IPXEBootConfigStateError
		apimeta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: metalv1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Error", Message: "no secret"})
	})
	s.settle(t)
	events.hears(t, "ignition that is missing", "ServerBootConfiguration: Warning BootConfigurationError IPXEBootConfig: no secret", "Server: Warning BootConfigurationError")
}

// TestABootThatGoesAsItShouldIsNotTold: an event of each would be a write of each.
func TestABootThatGoesAsItShouldIsNotTold(t *testing.T) {
	s, _ := pushed(t, both)
	events := &told{}
	s.Reconciler.Recorder = events
	s.boots(t)
	s.resolved(t)
	checkState(t, s.delivered(t), metalv1.ServerBootConfigurationStateReady)
	events.hears(t, "a boot")
}

// TestAServerIsToldOfWhatItBootsAlone: what another boot configuration cannot, is not its concern.
func TestAServerIsToldOfWhatItBootsAlone(t *testing.T) {
	s := newStand(t, newConfig("registry.example.org/os:1"))
	events := &told{}
	s.Reconciler.Recorder = events
	s.settle(t)
	events.hears(t, "not its own", "ServerBootConfiguration: Warning ImageNotResolved")
}

// TestWhatAClaimSaysIsNotLoggedTwice: the claim's controller logs it.
func TestWhatAClaimSaysIsNotLoggedTwice(t *testing.T) {
	config := newConfig("registry.example.org/os:1")
	yes := true
	config.OwnerReferences = []metav1.OwnerReference{{APIVersion: metalv1.GroupVersion.String(), Kind: "ServerClaim", Name: "c", UID: "u", Controller: &yes}}
	s := newStand(t, config)
	s.API.Logger = funcr.New(func(_, args string) { t.Errorf("logged: %s", args) }, funcr.Options{})
	checkState(t, s.settle(t), metalv1.ServerBootConfigurationStateError)
}

// TestAnotherBootProviderFindsWhatIsNewPending: its own word is left alone.
func TestAnotherBootProviderFindsWhatIsNewPending(t *testing.T) {
	api := controllertest.NewAPI(t, newConfig("oci://whatever"))
	p := &Pending{Client: api}
	api.Settle(t, p, "ns/c")
	if c := controllertest.Read[metalv1.ServerBootConfiguration](t, api, "ns/c"); c.Status.State != metalv1.ServerBootConfigurationStatePending {
		t.Errorf("state %q", c.Status.State)
	}
	for _, state := range []metalv1.ServerBootConfigurationState{metalv1.ServerBootConfigurationStateReady, metalv1.ServerBootConfigurationStateError} {
		controllertest.ChangeStatus(t, api, "ns/c", func(c *metalv1.ServerBootConfiguration) { c.Status.State = state })
		api.ForgetWrites()
		api.Settle(t, p, "ns/c")
		if w := api.Writes(""); len(w) != 0 {
			t.Errorf("state %s: written %v", state, w)
		}
	}
	// The provider was faster than the cache: what it said stays.
	controllertest.ChangeStatus(t, api, "ns/c", func(c *metalv1.ServerBootConfiguration) { c.Status.State = "" })
	p.Client = api.Lagging(t, &metalv1.ServerBootConfigurationList{})
	controllertest.ChangeStatus(t, api, "ns/c", func(c *metalv1.ServerBootConfiguration) { c.Status.State = metalv1.ServerBootConfigurationStateReady })
	api.Step(t, p, "ns/c")
	if c := controllertest.Read[metalv1.ServerBootConfiguration](t, api, "ns/c"); c.Status.State != metalv1.ServerBootConfigurationStateReady {
		t.Errorf("state %q, and it was Ready", c.Status.State)
	}
}

// TestNothingToBootIsNoFailure: a claim without an image holds a Server.
func TestNothingToBootIsNoFailure(t *testing.T) {
	s := newStand(t, newConfig(""))
	events := &told{}
	s.Reconciler.Recorder = events
	s.boots(t)
	checkState(t, s.settle(t), metalv1.ServerBootConfigurationStateError, "spec.image is empty")
	events.hears(t, "no image")
}

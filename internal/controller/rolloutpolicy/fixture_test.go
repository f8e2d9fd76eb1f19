package rolloutpolicy

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/childset"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
	"github.com/farrier-dev/farrier/internal/place"
)

// fixture is an API with servers in racks and a BIOSSettingsSet for all of them, with a test in the place of the controller of BIOSSettings.
type fixture struct {
	*controllertest.API
	r       *Reconciler
	targets *childset.Targets
	told    []string
}

// settings is the kind of Set that the tests use.
func settings() *childset.Kind { return childset.Kinds()[0] }

// racked is how many servers stand in a rack, and how many racks in a zone.
const racked, zoned = 4, 3

func newFixture(t *testing.T, servers int, spec farrierv1.RolloutPolicySpec) *fixture {
	t.Helper()
	s := &fixture{API: controllertest.NewAPI(t)}
	s.targets = &childset.Targets{Client: s.API, Live: s.API, Kind: settings()}
	s.restart()
	s.Add(t, &farrierv1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: "careful"}, Spec: spec})
	for i := range servers {
		rack := i / racked
		server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: serverName(i), Labels: map[string]string{
			place.LabelRack: fmt.Sprintf("r%d", rack), place.LabelZone: fmt.Sprintf("z%d", rack/zoned),
		}}}
		server.Spec.SystemUUID = server.Name
		s.Add(t, server)
		s.serverIs(t, server.Name, metalv1.ServerStateAvailable)
	}
	s.set(t, "settings", "careful")
	return s
}

func serverName(i int) string { return fmt.Sprintf("s%03d", i) }

// restart has another process decide, which remembers nothing.
func (s *fixture) restart() {
	s.r = &Reconciler{Client: s.API, Live: s.API, Kinds: childset.Kinds(), Recorder: s, Clock: s.API.Clock}
}

// Eventf is the recorder.
func (s *fixture) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	s.told = append(s.told, reason)
}

// set makes a Set for all servers.
func (s *fixture) set(t *testing.T, name, policy string) {
	t.Helper()
	set := &metalv1.BIOSSettingsSet{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{metalv1.FinalizerBIOSSettingsSet}}}
	set.Spec.BIOSSettingsTemplate.Version = "1"
	if policy != "" {
		set.Annotations = map[string]string{metalv1.AnnotationRolloutPolicy: policy}
	}
	s.Add(t, set)
	s.makes(t)
}

// makes has the Sets make and change their children, which then say that they wait.
func (s *fixture) makes(t *testing.T) {
	t.Helper()
	var servers metalv1.ServerList
	if err := s.List(t.Context(), &servers); err != nil {
		t.Fatal(err)
	}
	for _, server := range servers.Items {
		s.Settle(t, s.targets, server.Name)
	}
	for _, c := range s.children(t) {
		if c.Status.ObservedGeneration != c.Generation {
			s.childIs(t, c.Name, metalv1.BIOSSettingsStatePending, metalv1.ReasonWaitingForRollout)
		}
	}
}

func (s *fixture) children(t *testing.T) []metalv1.BIOSSettings {
	t.Helper()
	var list metalv1.BIOSSettingsList
	if err := s.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func (s *fixture) serverIs(t *testing.T, name string, state metalv1.ServerState) {
	t.Helper()
	controllertest.ChangeStatus(t, s.API, name, func(server *metalv1.Server) { server.Status.State = state })
}

// childIs has a child say how it stands, as its controller would.
func (s *fixture) childIs(t *testing.T, name string, state metalv1.BIOSSettingsState, reason string) {
	t.Helper()
	step := map[metalv1.BIOSSettingsState]string{
		metalv1.BIOSSettingsStateInProgress: "Write", metalv1.BIOSSettingsStateApplied: "Done", metalv1.BIOSSettingsStateFailed: "Failed",
	}[state]
	controllertest.Change(t, s.API, name, func(c *metalv1.BIOSSettings) {
		if delete(c.Annotations, "farrier.dev/bios-progress"); step != "" {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, "farrier.dev/bios-progress", `{"step":"`+step+`"}`)
		}
	})
	controllertest.ChangeStatus(t, s.API, name, func(c *metalv1.BIOSSettings) {
		c.Status.State, c.Status.ObservedGeneration = state, c.Generation
		c.Status.Conditions = []metav1.Condition{{Type: metalv1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, LastTransitionTime: metav1.NewTime(s.API.Clock.Now())}}
	})
}

// begins has a child that may begin take its server.
func (s *fixture) begins(t *testing.T, c *metalv1.BIOSSettings) {
	t.Helper()
	controllertest.Change(t, s.API, c.Spec.ServerRef.Name, func(server *metalv1.Server) {
		server.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Name: c.Name}
	})
	s.serverIs(t, c.Spec.ServerRef.Name, metalv1.ServerStateMaintenance)
	s.childIs(t, c.Name, metalv1.BIOSSettingsStateInProgress, "Applying")
}

// ends has one end, well or not, and give its server back.
func (s *fixture) ends(t *testing.T, c *metalv1.BIOSSettings, failure string) {
	t.Helper()
	if failure == "" {
		s.childIs(t, c.Name, metalv1.BIOSSettingsStateApplied, "SettingsApplied")
	} else {
		s.childIs(t, c.Name, metalv1.BIOSSettingsStateFailed, failure)
	}
	controllertest.Change(t, s.API, c.Spec.ServerRef.Name, func(server *metalv1.Server) { server.Spec.ServerMaintenanceRef = nil })
	s.serverIs(t, c.Spec.ServerRef.Name, metalv1.ServerStateAvailable)
}

// decides has everything decided, after a while.
func (s *fixture) decides(t *testing.T) time.Duration {
	t.Helper()
	s.API.Clock.Step(decideEvery)
	return s.Step(t, s.r, everything).RequeueAfter
}

// open are the children that may begin.
func (s *fixture) open(t *testing.T) (open []metalv1.BIOSSettings) {
	t.Helper()
	for _, c := range s.children(t) {
		if rolloutpermit.Of(&c).Open() {
			open = append(open, c)
		}
	}
	return open
}

// goes has everything begin that may, and end.
func (s *fixture) goes(t *testing.T, failure string) (ended int) {
	t.Helper()
	s.decides(t)
	for _, c := range s.open(t) {
		s.begins(t, &c)
	}
	for _, c := range s.open(t) {
		s.ends(t, &c, failure)
		ended++
	}
	s.decides(t)
	return ended
}

// says is how the rollout of a Set stands.
func (s *fixture) says(t *testing.T, set string) farrierv1.Rollout {
	t.Helper()
	var policies farrierv1.RolloutPolicyList
	if err := s.List(t.Context(), &policies); err != nil {
		t.Fatal(err)
	}
	for _, p := range policies.Items {
		for _, r := range p.Status.Rollouts {
			if r.Name == set {
				return r
			}
		}
	}
	return farrierv1.Rollout{}
}

func amount(text string) *intstr.IntOrString {
	a := intstr.Parse(text)
	return &a
}

func fleetOf(n string) farrierv1.MaxUnavailable { return farrierv1.MaxUnavailable{Fleet: amount(n)} }

package childset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// progressKey is the fact that the controller of BIOSSettings keeps.
const progressKey = "farrier.dev/bios-progress"

// stand is the engine of BIOSSettingsSets, with a test in the place of everybody else.
type stand struct {
	*controllertest.API
	targets *Targets
	sets    *Sets
	told    []string
}

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{API: controllertest.NewAPI(t)}
	kind := biosSettingsSets()
	s.targets = &Targets{Client: s.API, Live: s.API, Kind: kind}
	s.sets = &Sets{Client: s.API, Kind: kind, Recorder: s, Clock: s.Clock}
	return s
}

// Eventf is the recorder.
func (s *stand) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	s.told = append(s.told, reason)
}

// settle has everything looked at until nobody writes, as the watches would.
func (s *stand) settle(t *testing.T) {
	t.Helper()
	for range 30 {
		before := len(s.Writes(""))
		for _, name := range s.names(t) {
			s.Step(t, s.targets, name)
		}
		var sets metalv1.BIOSSettingsSetList
		if err := s.List(t.Context(), &sets); err != nil {
			t.Fatal(err)
		}
		s.API.Clock.Step(countEvery)
		for _, set := range sets.Items {
			s.Step(t, s.sets, set.Name)
		}
		if len(s.Writes("")) == before {
			return
		}
	}
	t.Fatalf("it does not settle; last writes: %v", s.Writes("")[len(s.Writes(""))-5:])
}

// names are those of all targets, also of those that only a child names.
func (s *stand) names(t *testing.T) (names []string) {
	t.Helper()
	var servers metalv1.ServerList
	if err := s.List(t.Context(), &servers); err != nil {
		t.Fatal(err)
	}
	for _, server := range servers.Items {
		names = append(names, server.Name)
	}
	for _, child := range s.children(t) {
		names = append(names, child.Spec.ServerRef.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (s *stand) children(t *testing.T) []metalv1.BIOSSettings {
	t.Helper()
	var list metalv1.BIOSSettingsList
	if err := s.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// has says which children there are: name, server and version of each.
func (s *stand) has(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, c := range s.children(t) {
		got = append(got, fmt.Sprintf("%s %s %s", c.Name, c.Spec.ServerRef.Name, c.Spec.Version))
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("children are %q, want %q", got, want)
	}
}

func (s *stand) set(t *testing.T, name string) *metalv1.BIOSSettingsSet {
	t.Helper()
	return controllertest.Read[metalv1.BIOSSettingsSet](t, s.API, name)
}

func (s *stand) child(t *testing.T, name string) *metalv1.BIOSSettings {
	t.Helper()
	return controllertest.Read[metalv1.BIOSSettings](t, s.API, name)
}

// ready checks what a Set says.
func (s *stand) ready(t *testing.T, name string, status metav1.ConditionStatus, reason string, parts ...string) {
	t.Helper()
	controllertest.Says(t, s.set(t, name).Status.Conditions, metalv1.ConditionReady, status, reason, parts...)
}

// counts checks the counters: selected, available, pending, in progress, completed, failed.
func (s *stand) counts(t *testing.T, name string, want ...int32) {
	t.Helper()
	st := s.set(t, name).Status
	got := []int32{st.FullyLabeledServers, st.AvailableBIOSSettings, st.PendingBIOSSettings, st.InProgressBIOSSettings, st.CompletedBIOSSettings, st.FailedBIOSSettings}
	if !slices.Equal(got, want) {
		t.Errorf("%s counts %v, want %v", name, got, want)
	}
}

// is has a child be in a state, as its controller would say it. Done is what its controller remembers.
func (s *stand) is(t *testing.T, name string, state metalv1.BIOSSettingsState) {
	t.Helper()
	step := map[metalv1.BIOSSettingsState]string{
		metalv1.BIOSSettingsStateInProgress: "Write", metalv1.BIOSSettingsStateApplied: "Done", metalv1.BIOSSettingsStateFailed: "Failed",
	}[state]
	controllertest.Change(t, s.API, name, func(c *metalv1.BIOSSettings) {
		if delete(c.Annotations, progressKey); step != "" {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, progressKey, `{"step":"`+step+`"}`)
		}
	})
	controllertest.ChangeStatus(t, s.API, name, func(c *metalv1.BIOSSettings) {
		c.Status.State, c.Status.ObservedGeneration = state, c.Generation
		c.Status.Conditions = nil
		if state == metalv1.BIOSSettingsStateFailed {
			c.Status.Conditions = []metav1.Condition{{Type: metalv1.ConditionReady, Status: metav1.ConditionFalse, Reason: "WriteFailed", LastTransitionTime: metav1.NewTime(s.API.Clock.Now())}}
		}
	})
}

// operation has somebody ask for an operation.
func operation[T any, P interface {
	*T
	object
}](t *testing.T, s *stand, name, operation string) {
	t.Helper()
	controllertest.Change[T, P](t, s.API, name, func(o P) { o.SetAnnotations(operated(o, operation).GetAnnotations()) })
}

func server(name string, labels ...string) *metalv1.Server {
	s := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	s.Spec.SystemUUID = "u-" + name
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		s.Labels[key] = value
	}
	return s
}

// setOf is a Set of version 1 for the servers of a rack.
func setOf(name, rack string, change ...func(*metalv1.BIOSSettingsSet)) *metalv1.BIOSSettingsSet {
	s := &metalv1.BIOSSettingsSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	s.Spec.ServerSelector.MatchLabels = map[string]string{"rack": rack}
	s.Spec.BIOSSettingsTemplate.Version = "1"
	for _, c := range change {
		c(s)
	}
	return s
}

// settingsOf are settings that a person makes.
func settingsOf(name, server string) *metalv1.BIOSSettings {
	c := &metalv1.BIOSSettings{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.Version, c.Spec.ServerRef = "9", &metalv1.LocalObjectReference{Name: server}
	return c
}

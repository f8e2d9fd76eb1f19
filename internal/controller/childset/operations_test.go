package childset

import (
	"slices"
	"testing"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestChildrenThatFailedTryAgain, once, and no others.
func TestChildrenThatFailedTryAgain(t *testing.T) {
	for _, word := range []string{"retry-child", "retry-child-and-self", "retry-child-reconciliation"} {
		t.Run(word, func(t *testing.T) {
			s := newStand(t)
			for _, name := range []string{"a", "b", "c", "d"} {
				s.Add(t, server(name, "rack=r1"))
			}
			s.Add(t, setOf("set", "r1"))
			s.settle(t)
			s.is(t, "set-a", metalv1.BIOSSettingsStateFailed)
			s.is(t, "set-b", metalv1.BIOSSettingsStateApplied)
			s.is(t, "set-c", metalv1.BIOSSettingsStateInProgress)
			s.is(t, "set-d", metalv1.BIOSSettingsStateFailed)
			operation[metalv1.BIOSSettings](t, s, "set-d", metalv1.OperationIgnore)
			s.settle(t)
			s.ready(t, "set", "False", reasonFailed, "2 of 4", `BIOSSettings "set-a": WriteFailed`)
			operation[metalv1.BIOSSettingsSet](t, s, "set", word)
			s.settle(t)
			for name, want := range map[string]string{"set-a": metalv1.OperationRetryPropagated, "set-b": "", "set-c": "", "set-d": metalv1.OperationIgnore} {
				if got := operationOf(s.child(t, name)); got != want {
					t.Errorf("%s is asked for %q, want %q", name, got, want)
				}
			}
			if got := operationOf(s.set(t, "set")); got != "" {
				t.Errorf("the Set is asked for %q still", got)
			}
			// It failed again: that was all.
			operation[metalv1.BIOSSettings](t, s, "set-a", "")
			s.settle(t)
			if got := operationOf(s.child(t, "set-a")); got != "" {
				t.Errorf("it is asked for %q once more", got)
			}
		})
	}
}

// TestChildrenAreIgnoredWhileTheirSetSaysSo, new ones as well.
func TestChildrenAreIgnoredWhileTheirSetSaysSo(t *testing.T) {
	for word, self := range map[string]bool{"ignore-child": false, "ignore-child-and-self": true, "ignore-child-and-self-reconciliation": true} {
		t.Run(word, func(t *testing.T) {
			s := newStand(t)
			s.Add(t, server("a", "rack=r1"))
			s.Add(t, server("b", "rack=r1"))
			s.Add(t, setOf("set", "r1"))
			s.settle(t)
			operation[metalv1.BIOSSettings](t, s, "set-b", metalv1.OperationIgnore)
			operation[metalv1.BIOSSettingsSet](t, s, "set", word)
			s.settle(t)
			asked := func(want string) {
				t.Helper()
				if got := operationOf(s.child(t, "set-a")); got != want {
					t.Errorf("the child is asked for %q, want %q", got, want)
				}
				if got := operationOf(s.child(t, "set-b")); got != metalv1.OperationIgnore {
					t.Errorf("the child that a person told to be ignored is asked for %q", got)
				}
			}
			asked(metalv1.OperationIgnorePropagated)
			s.Add(t, server("c", "rack=r1"))
			controllertest.Change(t, s.API, "set", func(o *metalv1.BIOSSettingsSet) { o.Spec.BIOSSettingsTemplate.Version = "2" })
			s.settle(t)
			if self {
				s.has(t, "set-a a 1", "set-b b 1")
			} else {
				s.has(t, "set-a a 2", "set-b b 1", "set-c c 2")
				if got := operationOf(s.child(t, "set-c")); got != metalv1.OperationIgnorePropagated {
					t.Errorf("the new child is asked for %q", got)
				}
			}
			operation[metalv1.BIOSSettingsSet](t, s, "set", "")
			s.settle(t)
			asked("")
			s.has(t, "set-a a 2", "set-b b 1", "set-c c 2")
		})
	}
}

// TestASetThatIsIgnored changes nothing, and can be deleted.
func TestASetThatIsIgnored(t *testing.T) {
	s := newStand(t)
	s.Add(t, server("a", "rack=r1"))
	s.Add(t, setOf("set", "r1"))
	s.settle(t)
	operation[metalv1.BIOSSettingsSet](t, s, "set", metalv1.OperationIgnore)
	s.ForgetWrites()
	s.Add(t, server("b", "rack=r1"))
	controllertest.Change(t, s.API, "a", func(a *metalv1.Server) { a.Labels["rack"] = "r2" })
	s.settle(t)
	s.has(t, "set-a a 1")
	s.Remove(t, s.set(t, "set"))
	s.settle(t)
	s.has(t)
}

func TestAnOperationThatNobodyKnows(t *testing.T) {
	s := newStand(t)
	s.Add(t, setOf("set", "r1"))
	operation[metalv1.BIOSSettingsSet](t, s, "set", "park")
	s.settle(t)
	if got := operationOf(s.set(t, "set")); got != "" || !slices.Equal(s.told, []string{metalv1.ReasonUnsupportedOperation}) {
		t.Errorf("operation %q, events %v", got, s.told)
	}
}

package server

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/reportintake"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// cleans switches cleaning on.
func (s *stand) cleans(mode inspection.CleanMode) {
	s.mode = mode
	s.Reconciler.Policy.Cleanup = mode
}

// cleaning takes a server that was just released to where its probe runs.
func (s *stand) cleaning(t *testing.T) {
	t.Helper()
	for range 20 {
		s.pass(t, time.Second)
		if s.read(t).Status.State == metalv1.ServerStateCleanup && !controllertest.Gone[metalv1.ServerBootConfiguration](t, s.API, namespace+"/"+host) {
			break
		}
	}
	s.ready(t, namespace+"/"+host)
	s.pass(t, 20*time.Second)
	s.is(t, metalv1.ServerStateCleanup)
	if a := s.attempt(t, namespace+"/"+host); a.Started == nil || a.Clean == "" {
		t.Fatalf("the probe does not run: %v", a)
	}
}

// released takes the server through a claim to where it is being cleaned.
func (s *stand) released(t *testing.T, mode inspection.CleanMode) *metalv1.ServerClaim {
	t.Helper()
	s.cleans(mode)
	claim := s.reserved(t)
	s.ends(t, claim)
	s.cleaning(t)
	return claim
}

// tells is the probe that registers, with the capabilities and the results that it is given.
func (s *stand) tells(t *testing.T, capable []inspection.Capability, disks []inspection.DiskCleanup) error {
	t.Helper()
	intake := reportintake.Intake{Client: s.API, APIReader: s.API, Namespace: namespace, Clock: s.API.Clock}
	r := inspection.Registration{SystemUUID: uuid, Attempt: s.attempt(t, namespace+"/"+host).ID}
	r.Data.Capabilities, r.Data.Cleanup = capable, disks
	return intake.Register(t.Context(), r)
}

var (
	both = []inspection.Capability{inspection.CapabilityCleanMetadata, inspection.CapabilityCleanFull}
	good = inspection.DiskCleanup{Path: "/dev/nvme0n1", Serial: "N0", Method: "sanitize", Seconds: 2, Result: inspection.CleanedOK}
	bad  = inspection.DiskCleanup{Path: "/dev/sdb", Serial: "B7", Method: "overwrite", Seconds: 9, Result: inspection.CleanedFailed, Error: "medium error"}
)

// mustTell has the agent register, and report what it did with disks, if it did.
func (s *stand) mustTell(t *testing.T, capable []inspection.Capability, disks ...inspection.DiskCleanup) {
	t.Helper()
	if disks != nil {
		_ = s.tells(t, capable, nil) // it is refused where the agent has done its work
	}
	if err := s.tells(t, capable, disks); err != nil {
		t.Fatal(err)
	}
}

func TestAServerIsCleanedBeforeItIsAvailableAgain(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		claim := s.released(t, inspection.CleanFull)
		s.says(t, metalv1.ConditionCleaned, metav1.ConditionFalse, reasonCleaning, "register")
		if got := s.hw.Overrides(); got[len(got)-1] != uri+" Pxe" {
			t.Errorf("boots: %v", got)
		}
		before := s.hw.Resets()
		s.mustTell(t, both)
		s.pass(t, time.Minute)
		s.is(t, metalv1.ServerStateCleanup)
		s.says(t, metalv1.ConditionCleaned, metav1.ConditionFalse, reasonCleaning, "Wiping the disks")
		if got := s.hw.Resets(); !slices.Equal(got, before) {
			t.Errorf("while it wipes the machine was told %v", got[len(before):])
		}
		attempt := s.attempt(t, namespace+"/"+host)
		s.mustTell(t, both, good, good, inspection.DiskCleanup{Path: "/dev/sdc", Result: inspection.CleanedExempt})
		s.pass(t, 20*time.Second)
		server := s.is(t, metalv1.ServerStateAvailable)
		s.says(t, metalv1.ConditionCleaned, metav1.ConditionTrue, metalv1.ReasonCleaned, "2 disks wiped: 2 sanitize; 1 exempt")
		if server.Annotations[metalv1.AnnotationClaimedBy] != "" || server.Spec.BootConfigurationRef != nil || server.Status.PowerState != metalv1.PowerStateOff {
			t.Errorf("a clean server: %+v %v, power %s", server.Spec, server.Annotations, server.Status.PowerState)
		}
		if !controllertest.Gone[metalv1.ServerBootConfiguration](t, s.API, namespace+"/"+host) || !controllertest.Gone[corev1.Secret](t, s.API, namespace+"/"+host) {
			t.Error("what was made for the cleanup is still there")
		}
		made := readCleanup(t, s, string(claim.UID))
		if made.Mode != "full" || made.Attempt != attempt.ID || len(made.Disks) != 3 || made.Disks[0] != good || made.Outcome != machinerecord.Clean ||
			!made.Ended.After(made.Started) || made.Server != host || made.Claim != string(claim.UID) {
			t.Errorf("on record: %+v", made)
		}
		if count(s.told, metalv1.ReasonCleaned) != 1 {
			t.Errorf("events: %v", s.told)
		}
		controllertest.ChangeStatus(t, s.API, host, func(o *metalv1.Server) { o.Status = metalv1.ServerStatus{} })
		s.settle(t)
		s.says(t, metalv1.ConditionCleaned, metav1.ConditionTrue, metalv1.ReasonCleaned, "2 disks wiped")
	})
}

func TestADiskThatCannotBeWipedIsAnErrorUntilSomebodyRetries(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		claim := s.released(t, inspection.CleanFull)
		first := s.attempt(t, namespace+"/"+host)
		s.mustTell(t, both, good, bad)
		s.pass(t, 20*time.Second)
		server := s.is(t, metalv1.ServerStateError)
		if !slices.Equal(server.Spec.Taints, []metalv1.Taint{{Key: metalv1.TaintNotClean, Effect: metalv1.TaintEffectNoBind}}) || server.Annotations[metalv1.AnnotationClaimedBy] == "" {
			t.Errorf("taints %v, annotations %v", server.Spec.Taints, server.Annotations)
		}
		s.says(t, metalv1.ConditionReady, metav1.ConditionFalse, "NotClean", "/dev/sdb", "B7", "medium error", "retry")
		s.says(t, metalv1.ConditionCleaned, metav1.ConditionFalse, metalv1.ReasonCleanupFailed, "/dev/sdb")
		if made := readCleanup(t, s, string(claim.UID)); made.Outcome != machinerecord.NotClean || len(made.Disks) != 2 {
			t.Errorf("on record: %+v", made)
		}
		controllertest.ChangeStatus(t, s.API, host, func(o *metalv1.Server) { o.Status = metalv1.ServerStatus{} })
		s.restart(t)
		s.pass(t, 10*time.Second)
		s.is(t, metalv1.ServerStateError)
		s.says(t, metalv1.ConditionReady, metav1.ConditionFalse, "NotClean", "/dev/sdb")

		s.operate(t, metalv1.OperationRetry)
		s.cleaning(t)
		if again := s.attempt(t, namespace+"/"+host); again.ID == first.ID {
			t.Error("the boot is the one that failed")
		}
		s.mustTell(t, both, good)
		s.pass(t, 20*time.Second)
		s.is(t, metalv1.ServerStateAvailable)
		s.says(t, metalv1.ConditionCleaned, metav1.ConditionTrue, metalv1.ReasonCleaned)
		if made := readCleanup(t, s, string(claim.UID)); made.Outcome != machinerecord.Clean {
			t.Errorf("on record: %+v", made)
		}
	})
}

func TestAProbeThatCannotCleanIsSaidAndWaitedFor(t *testing.T) {
	for name, able := range map[string][]inspection.Capability{"old agent": nil, "not as much as is asked for": {inspection.CapabilityCleanMetadata}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				s.released(t, inspection.CleanFull)
				s.mustTell(t, able)
				before := s.hw.Resets()
				s.pass(t, 3*time.Hour)
				s.is(t, metalv1.ServerStateCleanup)
				s.says(t, metalv1.ConditionCleaned, metav1.ConditionFalse, metalv1.ReasonProbeCannotClean, "registry/probe:1", "clean-full")
				if got := s.hw.Resets(); !slices.Equal(got, before) {
					t.Errorf("it was booted again: %v", got[len(before):])
				}
				if got := count(s.told, metalv1.ReasonProbeCannotClean); got != 1 {
					t.Errorf("told %d times", got)
				}
				s.restart(t)
				s.pass(t, time.Minute)
				s.is(t, metalv1.ServerStateCleanup)
				if got := s.hw.Resets(); !slices.Equal(got, before) {
					t.Errorf("it was booted again after a start: %v", got[len(before):])
				}
				s.Reconciler.Policy.ProbeImage = "registry/probe:2"
				s.cleaning(t)
				s.mustTell(t, both)
				s.mustTell(t, both, good)
				s.pass(t, 20*time.Second)
				s.is(t, metalv1.ServerStateAvailable)
			})
		})
	}
}

func TestAProbeThatCannotCleanIsTriedAgainOnRequest(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.released(t, inspection.CleanMetadata)
		s.mustTell(t, nil)
		s.pass(t, time.Minute)
		s.operate(t, metalv1.OperationRetry)
		s.cleaning(t)
		s.says(t, metalv1.ConditionCleaned, metav1.ConditionFalse, reasonCleaning)
	})
}

func TestACleanupHasATime(t *testing.T) {
	for name, tc := range map[string]struct {
		registers bool
		after     time.Duration
		says      string
	}{
		"the probe never registers": {false, 10 * time.Minute, "not register within 10m"},
		"the probe never finishes":  {true, time.Hour, "not finish within 1h"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				s.Reconciler.Policy.CleanupTimeout = time.Hour
				s.released(t, inspection.CleanMetadata)
				if tc.registers {
					s.mustTell(t, both)
				} else { // it is booted once more, and has no more time for that
					first := absence + suspendDelay + 30*time.Second
					s.pass(t, first)
					s.ready(t, namespace+"/"+host)
					tc.after -= first
				}
				s.pass(t, tc.after-time.Minute)
				s.is(t, metalv1.ServerStateCleanup)
				s.pass(t, 2*time.Minute)
				server := s.is(t, metalv1.ServerStateError)
				s.says(t, metalv1.ConditionReady, metav1.ConditionFalse, "NotClean", tc.says)
				if len(server.Spec.Taints) != 1 {
					t.Errorf("taints %v", server.Spec.Taints)
				}
			})
		})
	}
}

func TestAMachineThatGoesOffWhileItIsWipedIsSwitchedOnAgain(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.released(t, inspection.CleanMetadata)
		s.mustTell(t, both)
		token := s.attempt(t, namespace+"/"+host).ID
		on := count(s.hw.Resets(), " On")
		for range 2 {
			s.hw.Power(uri, bmc.PowerOff)
			s.rack.Look(address)
			s.pass(t, 30*time.Second)
		}
		if got := count(s.hw.Resets(), " On") - on; got != 2 || s.attempt(t, namespace+"/"+host).ID != token {
			t.Errorf("switched on %d times, %v", got, s.hw.Resets())
		}
		s.mustTell(t, both, good)
		s.pass(t, 20*time.Second)
		s.is(t, metalv1.ServerStateAvailable)
	})
}

// TestMoreMayBeAskedForNeverLess: by the server and by the claim, whose wish outlives it.
func TestMoreMayBeAskedForNeverLess(t *testing.T) {
	for i, tc := range []struct {
		policy        inspection.CleanMode
		server, claim string
		want          cleaning
	}{
		{"none", "", "", cleaning{mode: "none"}},
		{"", "", "", cleaning{mode: "none"}},
		{"metadata", "none", "none", cleaning{mode: "metadata"}},
		{"metadata", "full", "", cleaning{mode: "full"}},
		{"none", "", "metadata", cleaning{mode: "metadata"}},
		{"full", "metadata", "metadata", cleaning{mode: "full"}},
		{"metadata", "boot-order", " full , bios-defaults,", cleaning{mode: "full", bootOrder: true, biosDefaults: true}},
		{"metadata", "ful", "full,Shred", cleaning{mode: "full", unknown: []string{"ful", "Shred"}}},
	} {
		v := newView(func(v *View) {
			v.Policy.Cleanup = tc.policy
			v.Server.Annotations = map[string]string{metalv1.AnnotationCleanup: tc.server, metalv1.AnnotationClaimCleanup: tc.claim}
		})
		if got := v.wantedCleaning(); fmt.Sprint(got) != fmt.Sprint(tc.want) {
			t.Errorf("%d: %+v, want %+v", i, got, tc.want)
		}
	}
}

func TestTheWishOfAClaimIsFollowedWhileItLives(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.cleans(inspection.CleanMetadata)
		claim := s.reserved(t)
		for _, wish := range []string{"full", "metadata,boot-order", ""} {
			controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerClaim) {
				metav1.SetMetaDataAnnotation(&c.ObjectMeta, metalv1.AnnotationCleanup, wish)
			})
			s.settle(t)
			if got := s.read(t).Annotations[metalv1.AnnotationClaimCleanup]; got != wish {
				t.Errorf("remembered: %q, want %q", got, wish)
			}
		}
		controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerClaim) {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, metalv1.AnnotationCleanup, "full")
		})
		s.settle(t)
		s.ends(t, claim)
		s.cleaning(t)
		if a := s.attempt(t, namespace+"/"+host); a.Clean != inspection.CleanFull {
			t.Errorf("cleaned by %s", a.Clean)
		}
		s.mustTell(t, both, good)
		s.pass(t, 20*time.Second)
		if server := s.is(t, metalv1.ServerStateAvailable); server.Annotations[metalv1.AnnotationClaimCleanup] != "" {
			t.Error("the next claim inherits the wish of the last")
		}
	})
}

func TestAWordThatMeansNothingStopsACleanup(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.cleans(inspection.CleanMetadata)
		claim := s.reserved(t)
		s.change(t, func(o *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationCleanup, "fulll")
		})
		s.ends(t, claim)
		s.pass(t, time.Minute)
		s.is(t, metalv1.ServerStateCleanup)
		s.says(t, metalv1.ConditionCleaned, metav1.ConditionFalse, metalv1.ReasonCleanupUnknown, "fulll")
		if got := count(s.told, metalv1.ReasonCleanupUnknown); got != 1 {
			t.Errorf("told %d times", got)
		}
		s.change(t, func(o *metalv1.Server) { o.Annotations[metalv1.AnnotationCleanup] = "full" })
		s.cleaning(t)
	})
}

// TestMoreThatIsAskedForDuringACleanupIsDoneToo: what has begun is not interrupted, and not enough.
func TestMoreThatIsAskedForDuringACleanupIsDoneToo(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.released(t, inspection.CleanMetadata)
		first := s.attempt(t, namespace+"/"+host)
		s.change(t, func(o *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationCleanup, "full")
		})
		s.pass(t, time.Minute)
		if now := s.attempt(t, namespace+"/"+host); now.ID != first.ID {
			t.Fatal("the wipe was interrupted")
		}
		s.mustTell(t, both, inspection.DiskCleanup{Path: "/dev/sda", Method: "metadata", Result: inspection.CleanedOK})
		s.pass(t, 2*time.Second)
		s.cleaning(t)
		if now := s.attempt(t, namespace+"/"+host); now.Clean != inspection.CleanFull {
			t.Errorf("then cleaned by %s", now.Clean)
		}
		s.mustTell(t, both, good)
		s.pass(t, 20*time.Second)
		s.is(t, metalv1.ServerStateAvailable)
	})
}

// TestACleanupWritesOnceForEachStep: one patch of the Server releases it, one names the probe's boot, one ends it.
func TestACleanupWritesOnceForEachStep(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.cleans(inspection.CleanMetadata)
		claim := s.reserved(t)
		s.ForgetWrites()
		s.ends(t, claim)
		s.cleaning(t)
		s.mustTell(t, both)
		if err := s.tells(t, both, []inspection.DiskCleanup{good}); err != nil {
			t.Fatal(err)
		}
		s.pass(t, 20*time.Second)
		s.is(t, metalv1.ServerStateAvailable)
		writes := map[string]int{}
		for _, w := range s.Writes("") {
			if w.Verb == controllertest.PatchStatus && w.Kind != "Server" {
				continue // the test's own
			}
			writes[w.Kind+" "+w.Verb]++
		}
		t.Log(writes)
		for what, most := range map[string]int{
			"Server patch": 3, "Server patch status": 9, // what a person sees of it: shutting down, off, booting, on, registered, wiping, clean, available, off
			"ServerBootConfiguration create": 1, "ServerBootConfiguration patch": 2, // ordered and off, on
			"ServerBootConfiguration delete": 2, "ConfigMap create": 1, "ConfigMap update": 1, "ConfigMap delete": 0,
		} {
			if writes[what] > most {
				t.Errorf("%s: %d times, want %d at most", what, writes[what], most)
			}
		}
	})
}

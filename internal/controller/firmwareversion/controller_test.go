package firmwareversion

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// TestFirmwareIsUpdated is the whole way before the BMCs of several vendors.
func TestFirmwareIsUpdated(t *testing.T) {
	for _, kind := range Kinds() {
		for _, vendor := range sim.Vendors() {
			t.Run(kind.Name+"/"+string(vendor), func(t *testing.T) {
				t.Parallel()
				s := newStand(t, kind, vendor)
				s.Add(t, s.wanted())
				s.waits(t)
				controllertest.Says(t, s.version(t).status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonWaitingForMaintenance, `"2.5.0"`)
				s.grants(t)
				i := s.completes(t)
				controllertest.Says(t, i.status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, reasonReached, `"2.5.0"`)
				s.returned(t, i)
				if n := s.posted.Load(); n != 1 {
					t.Errorf("%d updates were started", n)
				}
				if task := i.status.UpgradeTask; task == nil || task.URI == "" {
					t.Errorf("task %+v", task)
				}
				if kind == BIOS {
					s.bootedNoDisk(t)
				}
				if starts := slices.Contains(s.steps, stepOn); starts != (kind == BIOS && (vendor == sim.Dell || vendor == sim.HPE)) {
					t.Errorf("steps %v", s.steps)
				}
				// Everything can be derived again, and nothing is done twice.
				s.clearStatus(t)
				s.untilState(t, metalv1.VersionStateCompleted)
				if n := s.posted.Load(); n != 1 {
					t.Errorf("%d updates were started", n)
				}
			})
		}
	}
}

func (s *stand) clearStatus(t *testing.T) {
	t.Helper()
	if s.Kind.ofBMC {
		controllertest.ChangeStatus(t, s.API, "v", func(v *metalv1.BMCVersion) { v.Status = metalv1.VersionStatus{} })
		return
	}
	controllertest.ChangeStatus(t, s.API, "v", func(v *metalv1.BIOSVersion) { v.Status = metalv1.VersionStatus{} })
}

// bootedNoDisk fails if the machine has booted anything but the setup of its firmware, or is on.
func (s *stand) bootedNoDisk(t *testing.T) {
	t.Helper()
	for _, r := range s.rack.Machine(0).Record() {
		if !r.POST.IsZero() && r.Boot.Target != sim.BootSetup {
			t.Errorf("the machine booted from %q", r.Boot.Target)
		}
	}
	s.until(t, "off", func(*item) bool { return s.observedPower() == bmc.PowerOff })
}

// TestARolloutIsWaitedFor: no server is asked for until there is a permit.
func TestARolloutIsWaitedFor(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t, kind, sim.Standard)
			obj := s.wanted()
			rolloutpermit.SetPolicy(obj, "careful")
			s.Add(t, obj)
			i := s.until(t, "waits for the rollout", func(i *item) bool {
				c := i.status.Conditions
				return len(c) > 0 && c[0].Reason == metalv1.ReasonWaitingForRollout
			})
			controllertest.Says(t, i.status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonWaitingForRollout, `"2.5.0"`, `"careful"`)
			if i.status.State != metalv1.VersionStatePending || len(s.Writes("ServerMaintenance")) > 0 {
				t.Errorf("state %s; or a server was asked for without a permit", i.status.State)
			}
			now := i.copied()
			rolloutpermit.Set(now, &rolloutpermit.Permit{Begun: time.Now()})
			if err := s.API.Patch(t.Context(), now, client.MergeFrom(i.copied())); err != nil {
				t.Fatal(err)
			}
			s.waits(t)
		})
	}
}

// TestNothingToDo needs no maintenance.
func TestNothingToDo(t *testing.T) {
	for kind, version := range map[*Kind]string{BIOS: "v2.4.1.0", BMC: ""} {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t, kind, sim.Standard)
			s.Add(t, s.wanted(func(v *metalv1.VersionTemplate) {
				if version == "" {
					version = s.firmware(t)
				}
				v.Version = version
			}))
			i := s.untilState(t, metalv1.VersionStateCompleted)
			s.returned(t, i)
			if s.posted.Load() != 0 || s.rack.Machine(0).PowerState() != sim.PowerOff {
				t.Error("something was done")
			}
		})
	}
}

// firmware is the version that the BMC reports of itself.
func (s *stand) firmware(t *testing.T) string {
	t.Helper()
	deadline := time.After(patience)
	for {
		if o, _ := s.Fleet.Observe(s.key); o.Manager.FirmwareVersion != "" {
			return o.Manager.FirmwareVersion
		}
		select {
		case <-s.changed:
		case <-deadline:
			t.Fatal("the BMC does not tell its version")
		}
	}
}

// TestAKillAtEveryStep: a manager that knows nothing goes on where the other one stopped, and starts no second update.
func TestAKillAtEveryStep(t *testing.T) {
	for _, tc := range []struct {
		kind   *Kind
		vendor sim.Vendor
		serves bool // BMCs get images from Farrier, which sends them to some
		steps  []step
	}{
		{BIOS, sim.Standard, false, []step{stepBegin, stepOff, stepStart, stepFollow, stepFinish}},
		{BIOS, sim.Dell, false, []step{stepStart, stepFollow, stepRestart, stepOn}},
		{BIOS, sim.Lenovo, false, []step{stepStart, stepFollow}},
		{BMC, sim.HPE, false, []step{stepBegin, stepStart, stepFollow, stepFinish}},
		{BIOS, sim.Standard, true, []step{stepStart, stepFollow}},
		{BIOS, sim.Dell, true, []step{stepStart, stepFollow}},
		{BMC, sim.Supermicro, true, []step{stepStart, stepFollow}},
	} {
		for _, at := range tc.steps {
			t.Run(fmt.Sprint(tc.kind.Name, "/", tc.vendor, "/", tc.serves, "/", at), func(t *testing.T) {
				t.Parallel()
				s := newStand(t, tc.kind, tc.vendor)
				if tc.serves {
					s.keepsImages(t, true)
				}
				s.Add(t, s.wanted())
				s.grants(t)
				for range 3 { // the step as it begins, with its job or command on the way, and again
					s.until(t, string(at), func(i *item) bool {
						p := progressOf(i)
						return p != nil && (p.Step == at || p.Step == stepDone)
					})
					s.Step(t, s.Reconciler, "v")
					s.Reconciler = s.process(tc.kind, s.Fleet, connection.NewRegistry(s.Fleet))
				}
				i := s.completes(t)
				s.returned(t, i)
				if n := s.posted.Load() + s.pushed.Load(); n != 1 {
					t.Errorf("%d updates were started", n)
				}
			})
		}
	}
}

// TestUpdatesThatGoWrong: each in its own way, and the server goes back to where it was.
func TestUpdatesThatGoWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		kind   *Kind
		vendor sim.Vendor
		wrong  string
		change func(*metalv1.VersionTemplate)
		reason string
		says   string
	}{
		"the task fails":                     {kind: BIOS, wrong: "fails", reason: reasonTaskFailed, says: "could not be applied"},
		"the image is not there":             {kind: BIOS, change: func(v *metalv1.VersionTemplate) { v.Image.URI += "/missing" }, reason: reasonTaskFailed, says: "could not be fetched"},
		"the task vanishes":                  {kind: BIOS, wrong: "vanishes", reason: reasonTaskVanished, says: "forgotten"},
		"the task vanishes at a BMC":         {kind: BMC, wrong: "vanishes", reason: reasonTaskVanished, says: "forgotten"},
		"the task stands still":              {kind: BIOS, wrong: "stalls", reason: reasonTaskStuck, says: "until the BMC was reset"},
		"a job stands still":                 {kind: BIOS, vendor: sim.Lenovo, wrong: "stalls", reason: reasonTaskStuck, says: "until the BMC was reset"},
		"another version":                    {kind: BIOS, wrong: "other", reason: reasonWrongVersion, says: `"0.9.9"`},
		"another version of a BMC":           {kind: BMC, wrong: "other", reason: reasonWrongVersion, says: `"0.9.9"`},
		"the old version":                    {kind: BIOS, wrong: "keeps", reason: reasonUnchanged, says: `"2.4.1"`},
		"the machine does not start":         {kind: BIOS, vendor: sim.HPE, wrong: "bricks", reason: reasonMachineNotStarted, says: "does not start"},
		"the BMC does not come back":         {kind: BMC, wrong: "bricks", reason: reasonBMCNotBack, says: "does not answer"},
		"the BMC refuses":                    {kind: BMC, change: func(v *metalv1.VersionTemplate) { v.Image.URI = "ftp://127.0.0.1/bmc-2.5.0.bin" }, reason: reasonUpdateRefused, says: "ImageURI"},
		"a URI with a password":              {kind: BMC, change: func(v *metalv1.VersionTemplate) { v.Image.URI = "http://a:b@127.0.0.1/x" }, reason: reasonInvalidImage, says: "secretRef"},
		"another image than its digest says": {kind: BIOS, change: func(v *metalv1.VersionTemplate) { v.Image.URI += "#sha256=" + strings.Repeat("ab", 32) }, reason: reasonImageDigest, says: digestOf("firmware")},
		"no URI":                             {kind: BIOS, change: func(v *metalv1.VersionTemplate) { v.Image.URI = "bios.bin" }, reason: reasonInvalidImage, says: "scheme"},
		"credentials that are not there":     {kind: BIOS, change: func(v *metalv1.VersionTemplate) { v.Image.SecretRef = &metalv1.SecretReference{Name: "x"} }, reason: reasonImageCredentials, says: "farrier-system/x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.vendor == "" {
				tc.vendor = sim.Standard
			}
			s := newStand(t, tc.kind, tc.vendor)
			if tc.wrong != "" {
				s.goesWrong(t, fault.Spec{Kind: fault.BadUpdate, Value: tc.wrong})
			}
			if tc.change == nil {
				tc.change = func(*metalv1.VersionTemplate) {}
			}
			s.Add(t, s.wanted(tc.change))
			if early := []string{reasonInvalidImage, reasonImageCredentials, reasonImageDigest}; !slices.Contains(early, tc.reason) {
				s.grants(t)
			}
			i := s.fails(t)
			controllertest.Says(t, i.status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, tc.reason, tc.says)
			s.returned(t, i)
			if tc.kind == BIOS {
				s.bootedNoDisk(t)
			}
		})
	}
}

// completes waits until the version is there. Some tasks say for a while that they wait for a start.
func (s *stand) completes(t *testing.T) *item {
	t.Helper()
	return s.until(t, "Completed", func(i *item) bool {
		if p := progressOf(i); p != nil && p.Said == "Pending" {
			s.clock.forward(time.Second)
		}
		return i.status.State == metalv1.VersionStateCompleted
	})
}

// fails waits until an update has failed, as long as that takes.
func (s *stand) fails(t *testing.T) *item {
	t.Helper()
	return s.until(t, "Failed", func(i *item) bool {
		if p := progressOf(i); p != nil && p.active() && p.Step != stepBegin && p.Step != stepFinish {
			s.clock.forward(5 * time.Second)
		}
		return i.status.State == metalv1.VersionStateFailed
	})
}

// TestAnotherAttempt follows one that failed, after its pause.
func TestAnotherAttempt(t *testing.T) {
	t.Parallel()
	s := newStand(t, BIOS, sim.Standard)
	id := s.goesWrong(t, fault.Spec{Kind: fault.BadUpdate})
	s.Add(t, s.wanted(func(v *metalv1.VersionTemplate) { v.RetryPolicy.MaxAttempts = ptr.To(int32(1)) }))
	s.grants(t)
	i := s.until(t, "the first attempt fails", func(i *item) bool {
		return i.status.FailedAttempts == 1 && i.status.Conditions[0].Reason == reasonRetrying
	})
	controllertest.Says(t, i.status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonRetrying, "attempt 1 failed")
	if err := s.rack.ClearFault(id); err != nil {
		t.Fatal(err)
	}
	s.clock.forward(firstRetry)
	s.returned(t, s.untilState(t, metalv1.VersionStateCompleted))
	if n := s.posted.Load(); n != 2 {
		t.Errorf("%d updates were started", n)
	}
}

// TestABMCThatTakesTwoMinutes is silent meanwhile, which is no failure.
func TestABMCThatTakesTwoMinutes(t *testing.T) {
	t.Parallel()
	s := newStand(t, BMC, sim.Standard)
	s.goesWrong(t, fault.Spec{Kind: fault.SlowReset, Value: "4s"})
	s.Add(t, s.wanted())
	s.grants(t)
	s.until(t, "silence", func(i *item) bool {
		o, _ := s.Fleet.Observe(s.key)
		return o.Err != nil && i.status.State == metalv1.VersionStateInProgress
	})
	s.clock.forward(2 * time.Minute)
	s.Step(t, s.Reconciler, "v")
	if i := s.version(t); i.status.FailedAttempts != 0 || i.status.State == metalv1.VersionStateFailed {
		t.Errorf("status %+v", i.status)
	}
	s.returned(t, s.untilState(t, metalv1.VersionStateCompleted))
}

// TestTwoObjectsAtOneBMC never have two updates at once: a BMC that has one refuses another, so none was asked for too early.
func TestTwoObjectsAtOneBMC(t *testing.T) {
	t.Parallel()
	s := newStand(t, BIOS, sim.Standard)
	other := &stand{API: s.API, rack: s.rack, key: s.key, changed: s.changed, clock: s.clock, images: s.images, store: s.store}
	registry := connection.NewRegistry(s.Fleet)
	s.Reconciler, other.Reconciler = s.process(BIOS, s.Fleet, registry), s.process(BMC, s.Fleet, registry)
	s.Add(t, s.wanted())
	s.Add(t, other.wanted())
	s.grants(t)
	other.waits(t)
	s.until(t, "under way", func(i *item) bool { p := progressOf(i); return p.active() && p.Step == stepFollow })
	controllertest.Change(t, s.API, "s", func(o *metalv1.Server) { // as a controller would that does not look
		o.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "farrier-system", Name: other.maintenance()}
	})
	for range 5 {
		other.Step(t, other.Reconciler, "v")
	}
	if n := s.posted.Load(); n != 1 {
		t.Errorf("%d updates at once", n)
	}
	controllertest.Change(t, s.API, "s", func(o *metalv1.Server) {
		o.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "farrier-system", Name: s.maintenance()}
	})
	s.untilState(t, metalv1.VersionStateCompleted)
	other.grants(t)
	other.untilState(t, metalv1.VersionStateCompleted)
	if n := s.posted.Load(); n != 2 {
		t.Errorf("%d updates were started", n)
	}
}

// TestDeletedInTheMiddle waits until the attempt is over, and makes no other. With the annotation it does not wait.
func TestDeletedInTheMiddle(t *testing.T) {
	for name, at := range map[string]bool{"waits": false, "at once": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t, BIOS, sim.Standard, func(o *sim.Options) { o.Timing.Update = 2 * time.Second })
			s.Add(t, s.wanted())
			s.grants(t)
			s.until(t, "under way", func(i *item) bool { p := progressOf(i); return p.active() && p.Step == stepFollow })
			if at {
				controllertest.Change(t, s.API, "v", func(v *metalv1.BIOSVersion) {
					metav1.SetMetaDataAnnotation(&v.ObjectMeta, metalv1.AnnotationOperation, metalv1.OperationAllowInProgressDelete)
				})
			}
			s.Remove(t, s.version(t).Object)
			s.Step(t, s.Reconciler, "v")
			if gone := controllertest.Gone[metalv1.BIOSVersion](t, s.API, "v"); gone != at {
				t.Fatalf("gone: %v", gone)
			}
			deadline := time.Now().Add(patience)
			for !controllertest.Gone[metalv1.BIOSVersion](t, s.API, "v") {
				s.Step(t, s.Reconciler, "v")
				select {
				case <-s.changed:
				case <-time.After(100 * time.Millisecond):
				}
				if time.Now().After(deadline) {
					t.Fatal("it does not go")
				}
			}
			if !controllertest.Gone[metalv1.ServerMaintenance](t, s.API, "farrier-system/"+s.maintenance()) {
				t.Error("its maintenance is there still")
			}
		})
	}
}

// TestTheTargetIsDeleted in the middle.
func TestTheTargetIsDeleted(t *testing.T) {
	t.Parallel()
	s := newStand(t, BIOS, sim.Standard, func(o *sim.Options) { o.Timing.Update = time.Hour })
	s.Add(t, s.wanted())
	s.grants(t)
	s.until(t, "under way", func(i *item) bool { p := progressOf(i); return p.active() && p.Step == stepFollow })
	s.Remove(t, controllertest.Read[metalv1.Server](t, s.API, "s"))
	i := s.until(t, "an answer", func(i *item) bool { return !progressOf(i).active() })
	controllertest.Says(t, s.until(t, "Pending", func(i *item) bool { return i.status.State == metalv1.VersionStatePending }).status.Conditions,
		metalv1.ConditionReady, metav1.ConditionFalse, reasonServerNotFound, `"s"`)
	if len(i.maintenances()) != 0 {
		t.Errorf("maintenances %v", i.maintenances())
	}
}

// TestOneForEachTarget: the older goes first.
func TestOneForEachTarget(t *testing.T) {
	t.Parallel()
	s := newStand(t, BMC, sim.Standard)
	older := s.wanted()
	older.SetName("a")
	s.Add(t, older)
	s.Add(t, s.wanted())
	s.Settle(t, s.Reconciler, "v")
	controllertest.Says(t, s.version(t).status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonAnotherGoesFirst, `"a"`)
}

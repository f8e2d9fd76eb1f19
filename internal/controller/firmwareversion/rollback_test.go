package firmwareversion

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/sim"
)

// by has a FirmwareImage say how one goes back from it.
func by(method farrierv1.RollbackMethod, image string) func(*farrierv1.FirmwareImageSpec) {
	return func(s *farrierv1.FirmwareImageSpec) {
		s.Rollback = &farrierv1.FirmwareRollback{Method: method, Image: image}
	}
}

// TestTheFirmwareGoesBack is the way back by each method, with and without kills.
func TestTheFirmwareGoesBack(t *testing.T) {
	for _, kind := range Kinds() {
		for name, tc := range map[string]struct {
			vendor sim.Vendor
			method farrierv1.RollbackMethod
			says   string
			kills  bool
		}{
			"Reflash":                      {sim.Standard, farrierv1.RollbackReflash, `FirmwareImage "f-`, false},
			"Reflash at the start, killed": {sim.HPE, farrierv1.RollbackReflash, `FirmwareImage "f-`, true},
			"the other bank":               {sim.Standard, farrierv1.RollbackOtherBank, "other bank", false},
			"the other bank, killed":       {sim.Standard, farrierv1.RollbackOtherBank, "other bank", true},
			"the previous image":           {sim.Dell, farrierv1.RollbackPreviousImage, "previous image", false},
			"the previous image, killed":   {sim.Dell, farrierv1.RollbackPreviousImage, "previous image", true},
		} {
			t.Run(kind.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := newStand(t, kind, tc.vendor)
				old := s.first()
				image := ""
				if tc.method == farrierv1.RollbackReflash {
					image = "f-" + old
					s.Add(t, describes(s.base(), old, ""))
				}
				last := "2.5.0"
				s.Add(t, describes(s.base(), last, "", by(tc.method, image)))
				s.Add(t, s.wanted())
				s.waits(t)
				controllertest.Says(t, s.version(t).status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonWaitingForMaintenance, "rollback", tc.says)
				s.grants(t)
				s.returned(t, s.completes(t))

				s.operates(t, metalv1.OperationRollback)
				s.waits(t)
				controllertest.Says(t, s.version(t).status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonWaitingForMaintenance, "goes back", `"`+old+`"`)
				s.grants(t)
				i := s.until(t, "RolledBack", func(i *item) bool {
					if p := progressOf(i); p != nil && p.Said == "Pending" {
						s.clock.forward(startGrace)
					}
					if tc.kills {
						s.killedAtNewSteps(i)
					}
					return i.status.State == metalv1.VersionStateFailed
				})
				controllertest.Says(t, i.status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonRolledBack, `"`+old+`"`, "retry")
				s.returned(t, i)
				s.Fleet.Refresh(s.key)
				s.until(t, "the version is the old one", func(*item) bool { return s.installed() == old })
				if kind == BIOS {
					s.bootedNoDisk(t)
				}
				if _, refused := rollBack(i, nil, s.clock.Now()); !strings.Contains(refused, "already") {
					t.Errorf("a second rollback is refused with %q", refused)
				}
				// A person may have the version again.
				s.operates(t, metalv1.OperationRetry)
				s.grants(t)
				s.returned(t, s.completes(t))
			})
		}
	}
}

// installed is the version that the BMC has told last.
func (s *stand) installed() string {
	o, _ := s.Fleet.Observe(s.key)
	if s.Kind.ofBMC {
		return o.Manager.FirmwareVersion
	}
	if len(o.Systems) != 1 {
		return ""
	}
	return o.Systems[0].BIOSVersion
}

// TestARollbackThatCannotBe: a person is told why, and nothing is done.
func TestARollbackThatCannotBe(t *testing.T) {
	for name, tc := range map[string]struct {
		image *farrierv1.FirmwareRollback
		says  string
	}{
		"nobody says how": {nil, "no FirmwareImage"},
		"there is none":   {&farrierv1.FirmwareRollback{Method: farrierv1.RollbackNone}, "no way back"},
		"to nowhere":      {&farrierv1.FirmwareRollback{Method: farrierv1.RollbackReflash, Image: "x"}, `"x"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t, BMC, sim.Standard)
			last := "2.5.0"
			s.Add(t, describes(s.base(), last, "", func(f *farrierv1.FirmwareImageSpec) { f.Rollback = tc.image }))
			s.Add(t, s.wanted())
			s.grants(t)
			s.returned(t, s.completes(t))
			_, refused := rollBack(s.version(t), nil, s.clock.Now())
			if tc.image != nil && !strings.Contains(refused, tc.says) {
				t.Errorf("refused: %q", refused)
			}
			s.operates(t, metalv1.OperationRollback)
			i := s.until(t, "taken", func(i *item) bool { _, asked := metalv1.OperationOf(i); return !asked })
			if progressOf(i).Step != stepDone || progressOf(i).Rollback.Wanted {
				t.Errorf("progress %+v", progressOf(i))
			}
			if i := s.untilState(t, metalv1.VersionStateCompleted); len(i.maintenances()) > 0 {
				t.Error("the server was asked for")
			}
		})
	}
}

// TestARollbackThatTheBMCDoesNotOffer is known before the update begins.
func TestARollbackThatTheBMCDoesNotOffer(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t, kind, sim.HPE)
			s.Add(t, describes(s.base(), "2.5.0", "", by(farrierv1.RollbackOtherBank, "")))
			s.Add(t, s.wanted())
			i := s.untilState(t, metalv1.VersionStateFailed)
			controllertest.Says(t, i.status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonRollbackNotOffered, "one bank", `"f-2.5.0"`)
			if len(s.Writes("ServerMaintenance")) > 0 {
				t.Error("the server was asked for")
			}
			controllertest.Change(t, s.API, "f-2.5.0", func(f *farrierv1.FirmwareImage) { f.Spec.Rollback.Method = farrierv1.RollbackNone })
			s.grants(t)
			s.returned(t, s.completes(t))
		})
	}
}

// TestARollbackWhosePreviousImageHasGone fails with the server given back, and nothing is installed.
func TestARollbackWhosePreviousImageHasGone(t *testing.T) {
	t.Parallel()
	s := newStand(t, BIOS, sim.Standard) // keeps no previous image
	s.Add(t, describes(s.base(), "2.5.0", "", by(farrierv1.RollbackPreviousImage, "")))
	s.Add(t, s.wanted())
	s.grants(t)
	s.returned(t, s.completes(t))
	s.operates(t, metalv1.OperationRollback)
	s.grants(t)
	i := s.untilState(t, metalv1.VersionStateFailed)
	controllertest.Says(t, i.status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonRollbackNotOffered, `"2.4.1"`)
	s.returned(t, i)
	if n := s.posted.Load(); n != 1 {
		t.Errorf("%d updates were started", n)
	}
	s.bootedNoDisk(t)
}

// TestARollbackToABankThatIsNotThere names no FirmwareImage, which it does not go by.
func TestARollbackToABankThatIsNotThere(t *testing.T) {
	v := inStep(BMC, stepDone, 0, func(v *view) {
		v.progress.Rollback = &rollback{Method: farrierv1.RollbackOtherBank, Version: "2.4.0", Wanted: true}
		v.aim()
	})
	if err := v.unbanked(&look{banksRead: true}); err == nil || strings.Contains(err.Error(), `""`) || reasonOf(err, "") != reasonRollbackNotOffered {
		t.Errorf("error %v", err)
	}
	if err := v.unbanked(&look{banksRead: true, banked: true}); err != nil {
		t.Error(err)
	}
}

package bmc

import (
	"errors"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/fleet"
)

func TestOfANewBMCNothingIsSaidUntilThereIsSomething(t *testing.T) {
	made := metav1.NewTime(controllertest.Start.Add(-time.Hour)) // long ago: it is new to the fleet
	asked, heard := controllertest.Start.Add(firstContactTime), controllertest.Start.Add(time.Minute+managerTime)
	added := fleet.Observation{Added: controllertest.Start}
	once := fleet.Observation{Added: controllertest.Start, Sequence: 1, Time: controllertest.Start.Add(time.Minute)}
	twice, known, failed := once, once, once
	twice.Sequence, known.Manager.URI, failed.Err = 2, "/redfish/v1/Managers/1", errors.New("refused")
	for name, tc := range map[string]struct {
		scope scope
		said  metalv1.BMCState
		until time.Time
	}{
		"it is to be asked":                       {scope: scope{observation: added}, until: asked},
		"it does not answer":                      {scope: scope{observation: fleet.Observation{Err: errors.New("refused")}}},
		"it cannot be asked":                      {scope: scope{unresolved: errors.New("no BMCSecret")}},
		"others have it":                          {scope: scope{overriddenBy: "Server s"}},
		"it is being restarted":                   {scope: scope{reset: &reset{}}},
		"it could not be restarted":               {scope: scope{resetErr: errors.New("no")}},
		"its password is being changed":           {scope: scope{rotating: &rotating{}}},
		"that it was not heard of is said":        {said: metalv1.BMCStatePending},
		"more is known than that it was made":     {said: metalv1.BMCStateEnabled},
		"it is met again after a start":           {scope: scope{observation: added}, said: metalv1.BMCStateEnabled, until: controllertest.Start.Add(10 * time.Minute)},
		"it was away, and is met again":           {scope: scope{observation: added}, said: metalv1.BMCStateError, until: controllertest.Start.Add(10 * time.Minute)},
		"it has another spec since then":          {scope: scope{observation: added, obj: &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Generation: 2}}}, said: metalv1.BMCStateEnabled},
		"it answers":                              {scope: scope{observation: once}, until: heard},
		"it answers after it was waited for":      {scope: scope{observation: once}, said: metalv1.BMCStatePending, until: heard},
		"it answers again":                        {scope: scope{observation: once}, said: metalv1.BMCStateError},
		"it answers, and is known of old":         {scope: scope{observation: once}, said: metalv1.BMCStateEnabled},
		"it answers but for its manager":          {scope: scope{observation: twice}},
		"its manager is known":                    {scope: scope{observation: known}},
		"it answered and does no more":            {scope: scope{observation: failed}},
		"it answers, and has a system nobody may": {scope: scope{observation: once, refused: errors.New("invalid")}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.scope.obj == nil {
				tc.scope.obj = &metalv1.BMC{}
			}
			tc.scope.obj.CreationTimestamp = made
			if until := tc.scope.firstStatusDue(tc.said); !until.Equal(tc.until) {
				t.Errorf("quiet until %v, want %v", until, tc.until)
			}
		})
	}
}

// met is a stand whose BMC answers for its systems, and not yet for its manager.
func (s *stand) met(t *testing.T) (show func(error)) {
	t.Helper()
	s.bmc.Manages(func(m *bmc.Manager) { m.UUID = uuid2 })
	s.bmc.Set(system(uri1, uuid1))
	show = s.bmc.HidesManager()
	if b := s.settle(t); len(b.Status.Conditions) != 0 || controllertest.Gone[metalv1.Server](t, s.API, "b-system-0") {
		t.Errorf("of a BMC that shows its systems first: %+v, or there is no Server", b.Status)
	}
	s.ForgetWrites()
	return show
}

func TestTheFirstStatusIsOneWrite(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.met(t)(nil)
		s.rack.Wait()
		b := s.settle(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionIdentity, metav1.ConditionTrue, metalv1.ReasonMatches)
		want := []controllertest.Request{{Verb: controllertest.Patch, Kind: "BMC", Name: "b"}, {Verb: controllertest.PatchStatus, Kind: "BMC", Name: "b"}}
		if w := s.Writes("BMC"); !slices.Equal(w, want) || b.Spec.BMCUUID != uuid2 || b.Status.Model != "Controller 7" {
			t.Errorf("written: %v, want %v; UUID %q, model %q", w, want, b.Spec.BMCUUID, b.Status.Model)
		}
	})
}

func TestAManagerThatHangsHoldsNothingBackForLong(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.met(t)
		result := s.Step(t, s.Reconciler, "b")
		if result.RequeueAfter <= 0 || result.RequeueAfter > managerTime {
			t.Fatalf("looked at again after %v", result.RequeueAfter)
		}
		s.rack.Pass(result.RequeueAfter)
		s.Settle(t, s.Reconciler, "b")
		b := s.read(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
		if b.Spec.BMCUUID != "" {
			t.Errorf("spec.bmcUUID is %q", b.Spec.BMCUUID)
		}
	})
}

// What is wrong is not kept back until the manager is known.
func TestWhatIsWrongWithANewBMCIsSaidAtOnce(t *testing.T) {
	refused := &bmc.Error{Kind: bmc.KindRejected, Op: "GET", StatusCode: 404}
	for name, tc := range map[string]struct {
		spoil func(*stand, func(error))
		kind  string
		is    metav1.ConditionStatus
	}{
		"its manager cannot be read": {func(_ *stand, show func(error)) { show(refused) }, metalv1.ConditionReady, metav1.ConditionTrue},
		"it refuses the password": {func(_ *stand, show func(error)) {
			show(&bmc.Error{Kind: bmc.KindAuthentication, Op: "GET", StatusCode: 401})
		}, metalv1.ConditionReady, metav1.ConditionFalse},
		"it has gone": {func(s *stand, show func(error)) {
			s.bmc.Fails(&bmc.Error{Kind: bmc.KindConnection, Op: "GET"})
			show(&bmc.Error{Kind: bmc.KindConnection, Op: "GET"})
		}, metalv1.ConditionReady, metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			stands(t, func(t *testing.T, s *stand) {
				tc.spoil(s, s.met(t))
				s.rack.Wait()
				s.Settle(t, s.Reconciler, "b")
				if c := s.read(t).Status.Conditions; !slices.ContainsFunc(c, func(c metav1.Condition) bool { return c.Type == tc.kind && c.Status == tc.is }) {
					t.Errorf("said is %+v", c)
				}
			})
		})
	}
	t.Run("it is degraded", func(t *testing.T) {
		stands(t, func(t *testing.T, s *stand) {
			s.bmc.HidesManager()
			s.bmc.Set(system(uri1, ""))
			b := s.settle(t)
			controllertest.Says(t, b.Status.Conditions, metalv1.ConditionDegraded, metav1.ConditionTrue, metalv1.ReasonUUIDMissing)
		})
	})
}

// TestAStartWritesNothing: of a BMC that answers as before, a manager that starts has nothing to say.
func TestAStartWritesNothing(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.bmc.Manages(func(m *bmc.Manager) { m.UUID = uuid2 })
		s.bmc.Set(system(uri1, uuid1))
		s.settle(t)
		s.look(t)
		s.ForgetWrites()
		s.restart(t)
		s.Step(t, s.Reconciler, "b")
		b := s.look(t)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
		if w := s.Writes(""); len(w) > 0 {
			t.Errorf("written: %v", w)
		}
		s.bmc.Fails(errors.New("no route to host"))
		s.restart(t)
		controllertest.Says(t, s.look(t).Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonUnknownError)
	})
}

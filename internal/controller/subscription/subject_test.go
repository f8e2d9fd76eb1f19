package subscription

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc/bmcevents"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/fleet"
)

const uidInline = "uid-inline"

// inlines replaces the BMC object of the stand by a Server that names the BMC itself.
func (s *stand) inlines() {
	s.t.Helper()
	server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "inline", UID: uidInline}}
	server.Spec.BMC = &metalv1.BMCAccess{Address: "10.0.0.1"}
	server.Spec.BMC.Protocol = metalv1.Protocol{Name: metalv1.ProtocolRedfish, Scheme: metalv1.SchemeHTTP, Port: 8000}
	s.Add(s.t, server)
}

func (s *stand) settleServer() *metalv1.Server {
	s.t.Helper()
	for range 4 {
		s.pass(time.Second)
		s.Settle(s.t, reconcile.Func(s.reconcileServer), "inline")
	}
	return controllertest.Read[metalv1.Server](s.t, s.API, "inline")
}

func TestAnInlineBMCIsSubscribed(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.inlines()
		server := s.settleServer()
		s.expect("of a Server", "list", "subscribe Event", "subscribe MetricReport")
		controllertest.Says(t, server.Status.Conditions, ConditionSubscribed, metav1.ConditionTrue, ReasonSubscribed)
		if s.bmc.there[0].Destination != s.destination(bmcevents.Alerts, uidInline) || !s.Receiver.Knows(uidInline) {
			t.Error("the destination is not that of the Server")
		}
		polls := s.bmc.polled()
		s.Heard("server/inline", []bmcevents.Event{{MessageID: "X.1.0.Burns", Message: "fire", Severity: bmcevents.SeverityCritical}})
		s.pass(30 * time.Second)
		if s.bmc.polled() == polls || len(s.notes) != 1 {
			t.Errorf("polled: %v, told: %q", s.bmc.polled() != polls, s.notes)
		}
		for over := false; !over; s.pass(time.Second) {
			var err error
			if over, err = s.UnsubscribeServer(server, s.key); err != nil {
				t.Fatal(err)
			}
		}
		s.expect("when it is left", "list", "unsubscribe /s/1", "unsubscribe /s/2")
	})
}

func TestABMCObjectIsSubscribedInPlaceOfAServer(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.inlines()
		s.NamedByBMC = func(key fleet.Key) bool { return key == s.key }
		server := s.settleServer()
		s.expect("of a Server whose BMC has an object")
		if len(server.Status.Conditions) != 0 {
			t.Errorf("conditions %+v", server.Status.Conditions)
		}
		if over, err := s.UnsubscribeServer(server, s.key); !over || err != nil {
			t.Errorf("left: %v, %v", over, err)
		}
		controllertest.Change(t, s.API, "inline", func(o *metalv1.Server) { o.Spec.BMC = nil })
		s.settleServer()
		s.expect("of a Server that names none")
	})
}

// Events were on, the status was lost, and events are off now: what is at the BMC is found all the same.
func TestWhatNoStatusTellsOfIsRemovedInTime(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.settle()
		s.expect("at first", "list", "subscribe Event", "subscribe MetricReport")
		controllertest.ChangeStatus(t, s.API, "b", func(b *metalv1.BMC) { b.Status = metalv1.BMCStatus{} })
		s.stop()
		s.start()
		s.URL, s.Receiver = "", nil
		s.settle()
		s.expect("right after the start")
		s.pass(lookAgain)
		s.settle()
		s.expect("half a day later", "list", "unsubscribe /s/1", "unsubscribe /s/2")
		s.pass(3 * lookAgain)
		s.settle()
		s.expect("after that")
	})
}

func TestEventsAboutHardware(t *testing.T) {
	for _, test := range []struct {
		message, origin string
		want            bool
	}{
		{"ResourceEvent.1.3.ResourceCreated", "/redfish/v1/Systems/1/Storage/1/Drives/3", true},
		{"ResourceEvent.1.3.ResourceRemoved", "/redfish/v1/Systems/1/Memory/DIMM4", true},
		{"ResourceEvent.1.3.ResourceChanged", "", true},
		{"StorageDevice.1.2.DriveMissing", "/redfish/v1/Chassis/1/Drives/0", true},
		{"iLOEvents.3.2.DriveInserted", "", true},
		{"ResourceEvent.1.3.ResourceCreated", "/redfish/v1/EventService/Subscriptions/7", false},
		{"ResourceEvent.1.3.ResourceCreated", "/redfish/v1/SessionService/Sessions/7", false},
		{"ResourceEvent.1.3.ResourceCreated", "/redfish/v1/Managers/1/LogServices/SEL/Entries/7", false},
		{"ResourceEvent.1.3.ResourcePowerStateChanged", "/redfish/v1/Systems/1", false},
		{"ResourceEvent.1.3.ResourceStatusChangedOK", "/redfish/v1/Systems/1/Memory/DIMM4", false},
		{"", "", false},
		{"trailing.", "", false},
	} {
		if got := aboutHardware(bmcevents.Event{MessageID: test.message, Origin: test.origin}); got != test.want {
			t.Errorf("%s of %s: %v", test.message, test.origin, got)
		}
	}
}

func TestOtherHardwareIsRead(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.settle()
		read := func() int {
			s.bmc.mu.Lock()
			defer s.bmc.mu.Unlock()
			return s.bmc.inventories
		}
		before := read()
		inserted := bmcevents.Event{MessageID: "ResourceEvent.1.3.ResourceCreated", Origin: "/redfish/v1/Systems/1/Memory/4"}
		s.Heard("b", []bmcevents.Event{inserted})
		s.settle()
		if read() != before {
			t.Error("read before the BMC can know")
		}
		s.pass(refreshDelay)
		s.settle()
		if n := read() - before; n != 1 {
			t.Errorf("read %d times", n)
		}
		for range 20 { // a loose contact
			s.Heard("b", []bmcevents.Event{inserted})
			s.settle()
		}
		if n := read() - before; n < 2 || n > 3 {
			t.Errorf("read %d times in a minute and a half", n)
		}
		s.pass(refreshEvery)
		s.settle()
		if n := read() - before; n != 3 {
			t.Errorf("read %d times: the last change is not seen", n)
		}
	})
}

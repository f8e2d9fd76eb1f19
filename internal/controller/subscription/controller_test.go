package subscription

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmcevents"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

func (s *stand) expect(what string, want ...string) {
	s.t.Helper()
	if d := cmp.Diff(want, s.bmc.done()); d != "" {
		s.t.Errorf("%s: %s", what, d)
	}
}

func (s *stand) links(b *metalv1.BMC, events, reports string) {
	s.t.Helper()
	if b.Status.EventsSubscriptionLink != events || b.Status.MetricsReportSubscriptionLink != reports {
		s.t.Errorf("links %q and %q, want %q and %q", b.Status.EventsSubscriptionLink, b.Status.MetricsReportSubscriptionLink, events, reports)
	}
}

func TestABMCIsSubscribedOnce(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		b := s.settle()
		s.expect("at first", "list", "subscribe Event", "subscribe MetricReport")
		s.links(b, "/s/1", "/s/2")
		controllertest.Says(t, b.Status.Conditions, ConditionSubscribed, metav1.ConditionTrue, ReasonSubscribed)
		if !s.Receiver.Knows(uid) {
			t.Error("the receiver does not listen")
		}
		if text := fmt.Sprintf("%+v", b); strings.Contains(text, "/alerts/") {
			t.Error("the destination is published")
		}
		s.ForgetWrites()
		s.pass(6 * time.Hour)
		s.settle()
		s.expect("while all is well")
		if w := s.Writes(""); len(w) != 0 {
			t.Errorf("written: %v", w)
		}
	})
}

func TestALostStatusMakesNoSecondSubscription(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.settle()
		s.bmc.done()
		controllertest.ChangeStatus(t, s.API, "b", func(b *metalv1.BMC) { b.Status = metalv1.BMCStatus{} })
		s.links(s.settle(), "/s/1", "/s/2")
		s.expect("status wiped")

		controllertest.ChangeStatus(t, s.API, "b", func(b *metalv1.BMC) { b.Status = metalv1.BMCStatus{} })
		s.stop()
		s.start()
		s.links(s.settle(), "/s/1", "/s/2")
		s.expect("status wiped, and a restart", "list")
	})
}

func TestALostSubscriptionIsMadeAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		happens func(*stand)
		pause   time.Duration
	}{
		"unnoticed": {func(*stand) {}, lookAgain},
		"with a restart of the BMC": {func(s *stand) {
			s.bmc.change(func() { s.bmc.err = &bmc.Error{Kind: bmc.KindConnection, Op: "GET", Message: "connection refused"} })
			s.pass(3 * time.Minute)
			s.Settle(s.t, s.Reconciler, "b")
			s.bmc.change(func() { s.bmc.err = nil })
		}, 15 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			stands(t, func(t *testing.T, s *stand) {
				s.settle()
				s.bmc.done()
				s.bmc.change(func() { s.bmc.there = nil })
				tc.happens(s)
				s.pass(tc.pause)
				s.links(s.settle(), "/s/3", "/s/4")
				s.expect("afterwards", "list", "subscribe Event", "subscribe MetricReport")
			})
		})
	}
}

// TestWhatIsLeftBehindIsRemoved: repetitions, subscriptions to an earlier address, those of earlier
// objects, and those that the BMC has given up; never those of others.
func TestWhatIsLeftBehindIsRemoved(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.Receiver.Listen("uid-twin", "twin") // another object for the same BMC
		s.bmc.there = []bmc.Subscription{
			{URI: "/old/stranger", Destination: "http://192.0.2.99/alerts/uid-b/token", State: "Enabled"},
			{URI: "/old/twin", Destination: s.destination(bmcevents.Alerts, "uid-twin"), State: "Enabled"},
			{URI: "/old/before", Destination: s.destination(bmcevents.Alerts, "uid-before"), State: "Enabled"},
			{URI: "/old/moved", Destination: s.Paths.Destination("https://192.0.2.7:1", bmcevents.Alerts, uid), State: "Enabled"},
			{URI: "/old/good", Destination: s.destination(bmcevents.Alerts, uid), State: "Enabled"},
			{URI: "/old/twice", Destination: s.destination(bmcevents.Alerts, uid), State: "Enabled"},
			{URI: "/old/ended", Destination: s.destination(bmcevents.MetricReports, uid), State: "Disabled", Format: bmc.FormatMetricReport},
		}
		s.links(s.settle(), "/old/good", "/s/1")
		s.expect("at first", "list", "unsubscribe /old/before", "unsubscribe /old/moved", "unsubscribe /old/twice", "unsubscribe /old/ended", "subscribe MetricReport")
	})
}

func TestWhatABMCDoesNotOffer(t *testing.T) {
	unsupported := &bmc.Error{Kind: bmc.KindUnsupported, Op: "subscribe to events", Message: "the BMC sends no such thing"}
	missing := &bmc.Error{Kind: bmc.KindRejected, Op: "GET /redfish/v1/EventService", StatusCode: 404}
	refused := &bmc.Error{Kind: bmc.KindRejected, Op: "POST", StatusCode: 400, MessageID: "EventSubscriptionLimitExceeded"}
	for name, tc := range map[string]struct {
		spoil   func(*fakeBMC)
		status  metav1.ConditionStatus
		reason  string
		says    string
		events  string
		reports string
		again   bool // within an hour
	}{
		"no event service":      {func(f *fakeBMC) { f.listing = missing }, metav1.ConditionFalse, ReasonNotOffered, "404", "", "", false},
		"switched off":          {func(f *fakeBMC) { f.listing = unsupported }, metav1.ConditionFalse, ReasonNotOffered, "Farrier polls it", "", "", false},
		"no reports":            {func(f *fakeBMC) { f.refuses = map[bmc.EventFormat]error{bmc.FormatMetricReport: unsupported} }, metav1.ConditionTrue, ReasonSubscribed, "no metric reports", "/s/1", "", false},
		"no room for reports":   {func(f *fakeBMC) { f.refuses = map[bmc.EventFormat]error{bmc.FormatMetricReport: refused} }, metav1.ConditionTrue, ReasonSubscribed, "LimitExceeded", "/s/1", "", true},
		"no room for events":    {func(f *fakeBMC) { f.refuses = map[bmc.EventFormat]error{bmc.FormatEvent: refused} }, metav1.ConditionFalse, ReasonFailed, "LimitExceeded", "", "/s/1", true},
		"an error of the BMC's": {func(f *fakeBMC) { f.listing = &bmc.Error{Kind: bmc.KindServer, StatusCode: 503} }, metav1.ConditionFalse, ReasonFailed, "503", "", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			stands(t, func(t *testing.T, s *stand) {
				tc.spoil(s.bmc)
				b := s.settle()
				s.links(b, tc.events, tc.reports)
				controllertest.Says(t, b.Status.Conditions, ConditionSubscribed, tc.status, tc.reason, tc.says)
				s.bmc.done()
				s.pass(10 * time.Second)
				s.settle()
				s.expect("at once")
				s.pass(time.Hour)
				s.settle()
				if again := len(s.bmc.done()) > 0; again != tc.again {
					t.Errorf("tried again within an hour: %v", again)
				}
			})
		})
	}
}

func TestABMCThatDoesNotAnswerIsLeftAlone(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.bmc.err = &bmc.Error{Kind: bmc.KindTimeout, Op: "GET", Message: "no answer in time"}
		b := s.settle()
		s.expect("while it is away")
		if c := apimeta.FindStatusCondition(b.Status.Conditions, ConditionSubscribed); c != nil {
			t.Errorf("said without knowing: %v", c)
		}
		s.bmc.change(func() { s.bmc.err = nil })
		s.pass(time.Minute)
		s.links(s.settle(), "/s/1", "/s/2")
	})
}

func TestEventsThatAreSwitchedOff(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.settle()
		s.bmc.done()
		s.stop()
		s.start()
		s.URL, s.Receiver = "", nil
		b := s.settle()
		s.links(b, "", "")
		s.expect("switched off", "list", "unsubscribe /s/1", "unsubscribe /s/2")
		if len(b.Status.Conditions) != 0 {
			t.Errorf("still said: %v", b.Status.Conditions)
		}
		s.pass(24 * time.Hour)
		s.settle()
		s.expect("a day later")
	})
}

func TestAnIgnoredBMCIsIgnored(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) {
			b.Annotations = map[string]string{metalv1.AnnotationOperation: metalv1.OperationIgnore}
		})
		s.settle()
		s.expect("ignored")
	})
}

// leave calls Leave as the finalizer does, until it is over.
func (s *stand) leave() {
	s.t.Helper()
	b := controllertest.Read[metalv1.BMC](s.t, s.API, "b")
	for range 2 * int(leaveWithin/time.Second) {
		over, err := s.Unsubscribe(b, s.key)
		if err != nil {
			s.t.Fatal(err)
		}
		if over {
			return
		}
		s.pass(time.Second)
	}
	s.t.Fatal("never over")
}

func TestLeaving(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(*stand)
		want   []string
	}{
		"subscribed": {func(*stand) {}, []string{"list", "unsubscribe /s/1", "unsubscribe /s/2"}},
		"after a restart and with a wiped status": {func(s *stand) {
			controllertest.ChangeStatus(s.t, s.API, "b", func(b *metalv1.BMC) { b.Status = metalv1.BMCStatus{} })
			s.stop()
			s.start()
		}, []string{"list", "unsubscribe /s/1", "unsubscribe /s/2"}},
		"without permission": {func(s *stand) { s.bmc.change(func() { s.bmc.undeletable = true }) }, []string{"list", "unsubscribe /s/1", "unsubscribe /s/2"}},
		"one request fails": {func(s *stand) { s.bmc.change(func() { s.bmc.busy = 1 }) }, []string{
			"list", "unsubscribe /s/1", "unsubscribe /s/2", "list", "unsubscribe /s/1",
		}},
		"it is away for a moment": {func(s *stand) { s.bmc.change(func() { s.bmc.gone = 1 }) }, []string{
			"list", "unsubscribe /s/1", "list", "unsubscribe /s/1", "unsubscribe /s/2",
		}},
		"it is always busy": {func(s *stand) { s.bmc.change(func() { s.bmc.busy = 1 << 20 }) }, slices.Repeat([]string{
			"list", "unsubscribe /s/1", "unsubscribe /s/2",
		}, 6)},
		"switched off": {func(s *stand) { s.URL, s.Receiver = "", nil }, []string{"list", "unsubscribe /s/1", "unsubscribe /s/2"}},
		"away": {func(s *stand) {
			s.bmc.change(func() { s.bmc.err = &bmc.Error{Kind: bmc.KindTimeout, Op: "GET"} })
			s.pass(3 * time.Minute)
		}, nil},
		"without an actor": {func(s *stand) { s.Fleet.Remove(s.key) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			stands(t, func(t *testing.T, s *stand) {
				s.settle()
				s.bmc.done()
				tc.before(s)
				s.leave()
				s.expect("leaving", tc.want...)
				if s.Receiver != nil && s.Receiver.Knows(uid) {
					t.Error("the receiver still listens")
				}
				s.Settle(t, s.Reconciler, "b") // the cache has not heard that it is being deleted
				s.pass(time.Minute)
				s.Settle(t, s.Reconciler, "b")
				s.expect("an old picture of the object")
				if _, bound := s.Registry.Key(&s.Wake, "b"); bound {
					t.Error("an old picture of the object binds it again")
				}
				s.Remove(t, controllertest.Read[metalv1.BMC](t, s.API, "b"))
				s.Step(t, s.Reconciler, "b")
				if _, bound := s.Registry.Key(&s.Wake, "b"); bound || len(s.known) != 0 {
					t.Error("something is remembered")
				}
			})
		})
	}
}

// TestLeavingWithoutEvents: an old picture of a BMC that had no subscriptions does not bind it again either.
func TestLeavingWithoutEvents(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.URL, s.Receiver = "", nil
		s.Settle(t, s.Reconciler, "b")
		s.leave()
		s.Settle(t, s.Reconciler, "b")
		if _, bound := s.Registry.Key(&s.Wake, "b"); bound {
			t.Error("an old picture of the object binds it again")
		}
	})
}

// TestTheLastObjectEndsTheActor: a BMC that only this controller still listens to is not polled for ever once its object is gone.
func TestTheLastObjectEndsTheActor(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.settle()
		s.Remove(t, controllertest.Read[metalv1.BMC](t, s.API, "b"))
		s.Step(t, s.Reconciler, "b")
		if _, there := s.Fleet.Observe(s.key); there {
			t.Error("the actor goes on without an object")
		}
	})
}

func TestAnEventWakesTheActor(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.settle()
		s.pass(30 * time.Second)
		before := s.bmc.polled()
		s.Heard("b", []bmcevents.Event{{Severity: bmcevents.SeverityOK}})
		s.Heard("unknown", nil)
		s.pass(time.Second)
		if n := s.bmc.polled() - before; n != 1 {
			t.Errorf("polled %d times", n)
		}
		before = s.bmc.polled()
		for range 60 {
			s.Heard("b", nil)
			s.pass(time.Second)
		}
		if n := s.bmc.polled() - before; n > 7 {
			t.Errorf("polled %d times in a minute of events", n)
		}
		if len(s.notes) != 0 {
			t.Errorf("told: %v", s.notes)
		}
	})
}

func TestCriticalEventsAreTold(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.settle()
		critical := bmcevents.Event{MessageID: "Power.1.0.Lost", Message: "Supply 2\nfailed", Severity: bmcevents.SeverityCritical}
		s.Heard("b", []bmcevents.Event{critical, critical, {Severity: bmcevents.SeverityWarning}})
		s.Heard("b", []bmcevents.Event{critical})
		s.Heard("unknown", []bmcevents.Event{critical})
		if d := cmp.Diff([]string{"BMCCriticalEvent: Power.Lost: Supply 2 failed"}, s.notes); d != "" {
			t.Error(d)
		}
		s.pass(eventEvery)
		critical.Message = strings.Repeat("é\x1b", maxEventMessage)
		s.Heard("b", []bmcevents.Event{critical})
		if len(s.notes) != 2 || len(s.notes[1]) > maxEventMessage+50 || strings.ContainsRune(s.notes[1], '\x1b') {
			t.Errorf("told: %q", s.notes)
		}
	})
}

func TestAllBMCsTogetherTellABoundedNumber(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.Reconciler.Recorder = nil
		s.known = map[string]*memory{}
		told := 0
		for i := range 2 * maxEvents {
			name := fmt.Sprint("b", i)
			s.known[name] = &memory{uid: name}
			if _, may := s.mayRecordEvent(name); may {
				told++
			}
		}
		if told != maxEvents {
			t.Errorf("%d told", told)
		}
	})
}

// TestAChangeOfPowerIsFollowed: the BMC tells that a machine is being switched on, and not that it is on.
func TestAChangeOfPowerIsFollowed(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.settle()
		s.pass(30 * time.Second)
		polls := func(d time.Duration) int {
			before := s.bmc.polled()
			for ; d > 0; d -= time.Second {
				s.pass(time.Second)
				s.Step(t, s.Reconciler, "b")
			}
			return s.bmc.polled() - before
		}
		s.bmc.change(func() { s.bmc.power = bmc.PowerPoweringOn })
		s.Heard("b", nil)
		if n := polls(time.Minute); n < 5 || n > 8 {
			t.Errorf("polled %d times in the first minute", n)
		}
		polls(time.Minute + 20*time.Second)
		if n := polls(time.Minute); n > 1 {
			t.Errorf("polled %d times in a minute, long after", n)
		}
		s.Heard("b", nil)
		s.bmc.change(func() { s.bmc.power = bmc.PowerOn })
		polls(20 * time.Second)
		if n := polls(time.Minute); n > 1 {
			t.Errorf("polled %d times in a minute when all is done", n)
		}
	})
}

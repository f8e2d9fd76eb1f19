package bmcevents

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEventsAreCountedAndTold(t *testing.T) {
	s := newStand(t, Options{})
	s.post(event("1", "ResourceEvent.1.3.TestMessage", "OK"))
	s.post(event("2", "ResourceEvent.1.4.TestMessage", "OK"))
	s.post(event("3", "Power.1.0.Lost", "Critical"))
	got := s.series()
	for name, want := range map[string]float64{
		`farrier_bmc_events_total{bmc="rack-1",message="ResourceEvent.TestMessage",severity="OK"}`: 2,
		`farrier_bmc_events_total{bmc="rack-1",message="Power.Lost",severity="Critical"}`:          1,
		`farrier_bmc_event_series{}`:               2,
		`farrier_bmc_event_series_evicted_total{}`: 0,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	want := []string{"rack-1 ResourceEvent.1.3.TestMessage", "rack-1 ResourceEvent.1.4.TestMessage", "rack-1 Power.1.0.Lost"}
	if d := cmp.Diff(want, s.told); d != "" {
		t.Error(d)
	}
}

func TestRepetitionsAreHeardOnce(t *testing.T) {
	other := strings.Replace(event("1", "A.1.0.B", "OK"), "12:00:00Z", "12:00:01Z", 1)
	without := `{"Events": [{"MessageId": "A.1.0.B", "MessageSeverity": "OK"}]}`
	for name, tc := range map[string]struct {
		bodies []string
		pause  time.Duration
		told   int
	}{
		"the same":                    {[]string{event("1", "A.1.0.B", "OK"), event("1", "A.1.0.B", "OK")}, time.Minute, 1},
		"with another Context":        {[]string{event("1", "A.1.0.B", "OK"), strings.Replace(event("1", "A.1.0.B", "OK"), "{", `{"Context": "other", `, 1)}, 0, 1},
		"another ID":                  {[]string{event("1", "A.1.0.B", "OK"), event("2", "A.1.0.B", "OK")}, 0, 2},
		"another message":             {[]string{event("1", "A.1.0.B", "OK"), event("1", "A.1.0.C", "OK")}, 0, 2},
		"another time":                {[]string{event("1", "A.1.0.B", "OK"), other}, 0, 2},
		"much later":                  {[]string{event("1", "A.1.0.B", "OK"), event("1", "A.1.0.B", "OK")}, window, 2},
		"cannot be told from another": {[]string{without, without}, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, Options{})
			for _, body := range tc.bodies {
				if code := s.post(body); code != 204 {
					t.Errorf("answered %d", code)
				}
				s.clock.Step(tc.pause)
			}
			if len(s.told) != tc.told {
				t.Errorf("told %v", s.told)
			}
			if n := s.series()[`farrier_bmc_event_deliveries_total{result="repeated"}`]; n != float64(len(tc.bodies)-tc.told) {
				t.Errorf("%v repetitions counted", n)
			}
		})
	}
}

func TestTwoBMCsDoNotRepeatEachOther(t *testing.T) {
	s := newStand(t, Options{})
	s.Listen("uid-2", "rack-2")
	s.post(event("1", "A.1.0.B", "OK"))
	s.send("POST", s.path(Alerts, "uid-2"), event("1", "A.1.0.B", "OK"))
	if len(s.told) != 2 {
		t.Errorf("told %v", s.told)
	}
}

// TestWhatIsRememberedIsBounded: a BMC that sends without end forgets its own past, and nobody else's.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	s := newStand(t, Options{})
	s.Listen("uid-2", "rack-2")
	s.send("POST", s.path(Alerts, "uid-2"), event("1", "A.1.0.B", "OK"))
	for i := range 3 * maxHeard {
		s.post(event(fmt.Sprint(i), "A.1.0.B", "OK"))
	}
	if n := len(s.sender("uid-1").heard.ring); n != maxHeard {
		t.Errorf("%d are remembered", n)
	}
	told := len(s.told)
	s.post(event(fmt.Sprint(3*maxHeard-1), "A.1.0.B", "OK"))
	s.send("POST", s.path(Alerts, "uid-2"), event("1", "A.1.0.B", "OK"))
	if len(s.told) != told {
		t.Errorf("told again: %v", s.told[told:])
	}
	s.post(event("0", "A.1.0.B", "OK"))
	if len(s.told) != told+1 {
		t.Error("the first of many is still remembered")
	}
}

func report(sequence int, values string) string {
	return fmt.Sprintf(`{"Id": "R", "ReportSequence": "%d", "Timestamp": "T", "MetricValues": [%s]}`, sequence, values)
}

func TestMetricsShowTheLastValueForAnHour(t *testing.T) {
	const watts = `farrier_bmc_metric{bmc="rack-1",metric="Watts",source="/redfish/v1/Chassis/1#/Watts"}`
	s := newStand(t, Options{})
	for i, v := range []string{"180", "190.5"} {
		s.post(report(i, `{"MetricId": "Watts", "MetricValue": "`+v+`", "MetricProperty": "/redfish/v1/Chassis/1#/Watts"}`))
	}
	s.post(report(0, `{"MetricId": "Watts", "MetricValue": "180", "MetricProperty": "/redfish/v1/Chassis/1#/Watts"}`)) // late
	if got := s.series()[watts]; got != 190.5 {
		t.Errorf("%v W", got)
	}
	if len(s.told) != 0 {
		t.Errorf("a report is no event: %v", s.told)
	}
	s.clock.Step(valueAge)
	if _, shown := s.series()[watts]; !shown {
		t.Error("gone too early")
	}
	s.clock.Step(time.Second)
	if got := s.series(); len(got) == 0 || got["farrier_bmc_event_series{}"] != 0 {
		t.Errorf("still there: %v", got)
	}
}

func TestSeriesOfOneBMCAreBounded(t *testing.T) {
	s := newStand(t, Options{Limits: Limits{PerBMC: 4, Total: 100}})
	s.Listen("uid-2", "rack-2")
	s.send("POST", s.path(Alerts, "uid-2"), event("1", "Quiet.1.0.One", "OK"))
	for i := range 10 {
		s.clock.Step(time.Second)
		s.post(event(fmt.Sprint("often-", i), "Often.1.0.Seen", "OK"))
		s.post(event(fmt.Sprint("new-", i), fmt.Sprintf("New.1.0.N%c", 'a'+i), "OK"))
	}
	got := s.series()
	if n := got["farrier_bmc_event_series{}"]; n != 5 {
		t.Errorf("%v series", n)
	}
	if n := got["farrier_bmc_event_series_evicted_total{}"]; n != 7 {
		t.Errorf("%v made room", n)
	}
	if n := got[`farrier_bmc_events_total{bmc="rack-1",message="Often.Seen",severity="OK"}`]; n != 10 {
		t.Errorf("what is used often was counted %v times", n)
	}
	if n := got[`farrier_bmc_events_total{bmc="rack-2",message="Quiet.One",severity="OK"}`]; n != 1 {
		t.Error("a neighbour made room")
	}
}

func TestSeriesOfAllAreBounded(t *testing.T) {
	s := newStand(t, Options{Limits: Limits{PerBMC: 10, Total: 25}})
	for i := range 100 {
		uid := fmt.Sprint("many-", i)
		s.Listen(uid, uid)
		s.send("POST", s.path(Alerts, uid), event("1", "A.1.0.B", "OK"))
	}
	got := s.series()
	if got["farrier_bmc_event_series{}"] != 25 || got["farrier_bmc_event_series_evicted_total{}"] != 75 {
		t.Errorf("%v", got)
	}
	if n := got[`farrier_bmc_events_total{bmc="many-99",message="A.B",severity="OK"}`]; n != 1 {
		t.Error("the last is not there")
	}
}

func TestForgetting(t *testing.T) {
	s := newStand(t, Options{})
	s.post(event("1", "A.1.0.B", "OK"))
	s.Listen("uid-1", "rack-1") // known
	if n := s.series()["farrier_bmc_event_series{}"]; n != 1 {
		t.Errorf("%v series", n)
	}
	s.Listen("uid-1b", "rack-1") // made anew under the same name
	if s.Knows("uid-1") || !s.Knows("uid-1b") {
		t.Error("the old one is still known, or the new one is not")
	}
	if code := s.post(event("2", "A.1.0.B", "OK")); code != 404 {
		t.Errorf("the old destination answers %d", code)
	}
	s.send("POST", s.path(Alerts, "uid-1b"), event("1", "A.1.0.B", "OK"))
	if n := s.series()[`farrier_bmc_events_total{bmc="rack-1",message="A.B",severity="OK"}`]; n != 1 {
		t.Errorf("counted %v", n)
	}
	s.Forget("rack-1")
	s.Forget("rack-1")
	if got := s.series(); got["farrier_bmc_event_series{}"] != 0 || s.Knows("uid-1b") {
		t.Errorf("left behind: %v", got)
	}
}

// TestMessageOfABMCThatGoes: what is being read when its BMC is forgotten makes no series for it.
func TestMessageOfABMCThatGoes(t *testing.T) {
	s := newStand(t, Options{})
	going := s.sender("uid-1")
	s.Forget("rack-1")
	s.take(going, Message{Events: []Event{{ID: "1"}}, Report: &Report{Values: []Value{{"W", "", 1}}}})
	if n := s.series()["farrier_bmc_event_series{}"]; n != 0 || len(s.told) != 0 {
		t.Errorf("%v series, told %v", n, s.told)
	}
}

func TestConcurrency(t *testing.T) {
	s := newStand(t, Options{Limits: Limits{PerBMC: 3, Total: 20}})
	s.options.Notify = func(string, []Event) {}
	var all sync.WaitGroup
	for i := range 8 {
		name := fmt.Sprint("bmc-", i%4)
		path := s.path(Alerts, name)
		all.Go(func() {
			for j := range 100 {
				s.Listen(name, name)
				s.send("POST", path, event(fmt.Sprint(j), fmt.Sprintf("A.1.0.%c", 'a'+j%7), "OK"))
				if j%20 == 19 {
					s.Forget(name)
					s.store.samples(s.clock.Now())
				}
			}
		})
	}
	all.Wait()
	for i := range 4 {
		s.Forget(fmt.Sprint("bmc-", i))
	}
	if n := s.series()["farrier_bmc_event_series{}"]; n != 0 {
		t.Errorf("%v series left", n)
	}
}

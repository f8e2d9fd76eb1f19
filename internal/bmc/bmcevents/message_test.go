package bmcevents

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestDecode(t *testing.T) {
	power := Event{ID: "7", MemberID: "0", MessageID: "ResourceEvent.1.3.ResourcePowerStateChanged", Message: "On.",
		Timestamp: "2026-03-01T12:00:00Z", Severity: SeverityOK, Origin: "/redfish/v1/Systems/1"}
	for name, tc := range map[string]struct {
		body string
		want Message
	}{
		"an event": {`{"Events": [{"EventId": "7", "MemberId": "0", "MessageId": "ResourceEvent.1.3.ResourcePowerStateChanged", "Message": "On.",
			"EventTimestamp": "2026-03-01T12:00:00Z", "MessageSeverity": "OK", "OriginOfCondition": {"@odata.id": "/redfish/v1/Systems/1"}}]}`,
			Message{Events: []Event{power}}},
		"spelled otherwise": {"\xef\xbb\xbf\n" + `{"Events": {"EventId": 7, "MemberId": "0", "MessageId": " ResourceEvent.1.3.ResourcePowerStateChanged ", "Message": "On.",
			"EventTimestamp": "2026-03-01T12:00:00Z", "Severity": "Informational", "OriginOfCondition": "/redfish/v1/Systems/1"}}`,
			Message{Events: []Event{power}}},
		"broken members": {`{"Events": [null, 7, "x", [], {"EventId": "7", "Severity": {"a": 1}, "OriginOfCondition": {"@odata.id": 5}}, {"MessageId": ["x"]}]}`,
			Message{Events: []Event{{ID: "7", Severity: SeverityUnknown, Origin: "5"}, {Severity: SeverityUnknown}}}},
		"severities": {`{"Events": [{"Severity": "WARNING"}, {"Severity": "OK", "MessageSeverity": "Critical"}, {"Severity": "Fatal"}, {"Severity": "odd"}]}`,
			Message{Events: []Event{{Severity: SeverityWarning}, {Severity: SeverityCritical}, {Severity: SeverityCritical}, {Severity: SeverityUnknown}}}},
		"a report": {`{"Id": "Power", "ReportSequence": 3, "Timestamp": "T", "MetricValues": [
			{"MetricId": "Watts", "MetricValue": "180.5", "MetricProperty": "/redfish/v1/Chassis/1#/Watts"},
			{"MetricId": "Fan", "MetricValue": 9000},
			{"MetricId": "On", "MetricValue": "True"}, {"MetricId": "Off", "MetricValue": false},
			{"MetricId": "CPUUsage", "MetricValue": "3", "Oem": {"Dell": {"ContextID": "CPU.Socket.2"}}},
			{"MetricProperty": "/redfish/v1/Chassis/1/Thermal#/Temperatures/0/ReadingCelsius", "MetricValue": "21"},
			{"MetricId": "State", "MetricValue": "Enabled"}, {"MetricId": "NaN", "MetricValue": "NaN"}, {"MetricId": "Inf", "MetricValue": "-Inf"},
			{"MetricId": "Huge", "MetricValue": "1e999"}, {"MetricValue": "1"}, {"MetricId": "None"}, "x"]}`,
			Message{Report: &Report{ID: "Power", Sequence: "3", Timestamp: "T", Values: []Value{
				{"Watts", "/redfish/v1/Chassis/1#/Watts", 180.5}, {"Fan", "", 9000}, {"On", "", 1}, {"Off", "", 0}, {"CPUUsage", "CPU.Socket.2", 3},
				{"ReadingCelsius", "/redfish/v1/Chassis/1/Thermal#/Temperatures/0/ReadingCelsius", 21},
			}}}},
		"no list":         {`{"Events": "x", "MetricValues": 5}`, Message{}},
		"an empty report": {`{"MetricValues": []}`, Message{Report: &Report{}}},
		"a test":          {`{}`, Message{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode([]byte(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, body := range map[string]string{
		"nothing": "", "blanks": " \n", "an array": `[{"EventId": "1"}]`, "text": "hello", "half an object": `{"Events": [`, "two objects": `{}{}`, "null": "null",
		"depth without end": `{"Events": ` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
	} {
		if m, err := Decode([]byte(body)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

func TestOfMany(t *testing.T) {
	m, err := Decode([]byte(`{"Events": [` + strings.Repeat("{},", maxRecords+10) + `{}], "MetricValues": [1, {"MetricId": "a", "MetricValue": 1}]}`))
	if err != nil || len(m.Events) != maxRecords || len(m.Report.Values) != 1 {
		t.Errorf("%d events, report %+v, %v", len(m.Events), m.Report, err)
	}
}

func TestMessageClass(t *testing.T) {
	for id, want := range map[string]string{
		"ResourceEvent.1.3.TestMessage": "ResourceEvent.TestMessage", "IDRAC.2.8.SYS1003": "IDRAC.SYS1003", "iLOEvents.2.1.0.ServerPoweredOn": "iLOEvents.ServerPoweredOn",
		"Base.1.8": "Base", "PlatformAlert": "PlatformAlert", "": "", "1.2.3": "", "a b\n{}\"\\é": "a_b______", strings.Repeat("x", 500): strings.Repeat("x", maxLabel),
	} {
		if got := MessageClass(id); got != want {
			t.Errorf("%q is %q, want %q", id, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	seeds, _ := filepath.Glob("testdata/*.json")
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, file := range seeds {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte(`{"Events": {"OriginOfCondition": [null, "\ud800"]}, "MetricValues": [{"MetricValue": 1e400, "Oem": 5}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := Decode(body)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("error %v", err)
			}
			return
		}
		s := newStand(t, Options{Limits: Limits{PerBMC: 5, Total: 10}})
		s.take(s.sender("uid-1"), m)
		for name := range s.series() { // a scrape must survive whatever came
			if !utf8.ValidString(name) || len(name) > 3*maxLabel+200 {
				t.Errorf("series %q", name)
			}
		}
	})
}

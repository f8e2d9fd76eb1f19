package bmcevents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Message is one delivery: events, a report, or both empty where a BMC only tries the way.
type Message struct {
	Events []Event
	// Report is nil in a message without metrics.
	Report *Report
}

// Severity of an event (DSP0268, Event, MessageSeverity).
type Severity string

const (
	SeverityOK       Severity = "OK"
	SeverityWarning  Severity = "Warning"
	SeverityCritical Severity = "Critical"
	SeverityUnknown  Severity = "Unknown"
)

// Event is one record of an event message (DSP0268, Event).
type Event struct {
	ID, MemberID, MessageID, Message, Timestamp string
	Severity                                    Severity
	// Origin is the URI of the resource that the event is about, as the BMC spells it.
	Origin string
}

// Report is a metric report (DSP0268, MetricReport).
type Report struct {
	ID, Sequence, Timestamp string
	Values                  []Value
}

// Value is one metric that could be read as a number.
type Value struct {
	// Metric is the MetricId; Source tells metrics of one ID apart, and may be empty.
	Metric, Source string
	Number         float64
}

// maxRecords is how many events or values of one message are read; a body of empty ones would
// otherwise be a hundred times its size in memory.
const maxRecords = 4096

// ErrMalformed is what a body is that is no message.
var ErrMalformed = errors.New("malformed message")

type messageBody struct {
	Events records[eventBody]

	ID             text `json:"Id"`
	ReportSequence text
	Timestamp      text
	MetricValues   records[valueBody]
}

type eventBody struct {
	EventID           text `json:"EventId"`
	MemberID          text `json:"MemberId"`
	MessageID         text `json:"MessageId"`
	Message           text
	EventTimestamp    text
	Severity          text
	MessageSeverity   text
	OriginOfCondition origin
}

type valueBody struct {
	MetricID       text `json:"MetricId"`
	MetricProperty text
	MetricValue    text
	Oem            struct {
		Dell struct {
			ContextID text
		}
	}
}

// Decode reads a message. A value of the wrong type costs that value, a broken record of a list that
// record; only what is no JSON object at all is an error.
func Decode(body []byte) (Message, error) {
	body = bytes.TrimLeft(body, " \t\r\n\xef\xbb\xbf") // some firmware sends a byte order mark
	if len(body) == 0 || body[0] != '{' {
		return Message{}, fmt.Errorf("%w: no JSON object", ErrMalformed)
	}
	var b messageBody
	if err := unmarshal(body, &b); err != nil {
		return Message{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	var m Message
	for i := range b.Events {
		m.Events = append(m.Events, b.Events[i].event())
	}
	if b.MetricValues != nil {
		m.Report = &Report{ID: string(b.ID), Sequence: string(b.ReportSequence), Timestamp: string(b.Timestamp)}
		for i := range b.MetricValues {
			if v, ok := b.MetricValues[i].value(); ok {
				m.Report.Values = append(m.Report.Values, v)
			}
		}
	}
	return m, nil
}

func (b *eventBody) event() Event {
	severity := b.MessageSeverity // Severity is deprecated in its favour (Event 1.5)
	if severity == "" {
		severity = b.Severity
	}
	return Event{
		ID: string(b.EventID), MemberID: string(b.MemberID), MessageID: string(b.MessageID), Message: string(b.Message),
		Timestamp: string(b.EventTimestamp), Severity: readSeverity(string(severity)), Origin: string(b.OriginOfCondition),
	}
}

// readSeverity takes the spellings of before Redfish 1.0 too, which firmware has kept.
func readSeverity(s string) Severity {
	switch strings.ToLower(s) {
	case "ok", "informational", "information", "info":
		return SeverityOK
	case "warning":
		return SeverityWarning
	case "critical", "error", "fatal":
		return SeverityCritical
	}
	return SeverityUnknown
}

// value reads what can be shown as a number: numbers, and booleans as 1 and 0.
func (b *valueBody) value() (Value, bool) {
	v := Value{Metric: string(b.MetricID), Source: string(b.MetricProperty)}
	if v.Source == "" {
		v.Source = string(b.Oem.Dell.ContextID) // iDRAC names the part there and nowhere else
	}
	if v.Metric == "" {
		_, v.Metric = cut(v.Source)
	}
	switch text := strings.ToLower(string(b.MetricValue)); text {
	case "true":
		v.Number = 1
	case "false":
		v.Number = 0
	default:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return v, false
		}
		v.Number = n
	}
	return v, v.Metric != ""
}

// unmarshal is json.Unmarshal, for which a value of the wrong type is no error: it goes on after
// such a value and reports it at the end.
func unmarshal(b []byte, out any) error {
	err := json.Unmarshal(b, out)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}

// text is a string, however the BMC spells it.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	*t = ""
	switch {
	case string(b) == "null", b[0] == '{', b[0] == '[':
	case b[0] == '"':
		var s string
		if err := json.Unmarshal(b, &s); err == nil {
			*t = text(strings.TrimSpace(s))
		}
	default:
		*t = text(b)
	}
	return nil
}

// origin is a link, or a string as in the first version of the schema.
type origin string

func (o *origin) UnmarshalJSON(b []byte) error {
	var link struct {
		URI text `json:"@odata.id"`
	}
	var plain text
	if b[0] == '{' {
		*o = ""
		if unmarshal(b, &link) == nil {
			*o = origin(link.URI)
		}
		return nil
	}
	err := plain.UnmarshalJSON(b)
	*o = origin(plain)
	return err
}

// records is an array of objects, or a single one that stands for an array. Members that are none
// are left out.
type records[T any] []T

func (l *records[T]) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '{':
		*l = records[T]{}
		l.add(b)
		return nil
	case '[':
		*l = records[T]{}
	default:
		return nil
	}
	members := json.NewDecoder(bytes.NewReader(b))
	if _, err := members.Token(); err != nil { // [
		return err
	}
	for n := 0; n < maxRecords && members.More(); n++ {
		var member json.RawMessage
		if err := members.Decode(&member); err != nil {
			return err
		}
		l.add(member)
	}
	return nil
}

func (l *records[T]) add(member []byte) {
	var v T
	if member[0] == '{' && unmarshal(member, &v) == nil {
		*l = append(*l, v)
	}
}

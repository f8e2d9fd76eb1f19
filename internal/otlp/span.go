package otlp

import (
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// TraceID and SpanID tell traces, and the spans of one, apart. Neither may be zero.
type (
	TraceID [16]byte
	SpanID  [8]byte
)

// Span is something that took time.
type Span struct {
	Trace  TraceID
	ID     SpanID
	Parent SpanID // zero: it is the root of its trace
	Name   string

	Start, End time.Time
	Attributes []Attribute
	// Error is what went wrong; empty: nothing.
	Error string
}

// Attribute says more of a span. The value is Text, unless it is empty.
type Attribute struct {
	Key    string
	Text   string
	Number int64
}

func (s *Span) proto() *tracepb.Span {
	p := &tracepb.Span{
		TraceId: s.Trace[:], SpanId: s.ID[:], Name: s.Name, Kind: tracepb.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano: nanoseconds(s.Start), EndTimeUnixNano: nanoseconds(s.End), Attributes: attributes(s.Attributes),
	}
	if s.Parent != (SpanID{}) {
		p.ParentSpanId = s.Parent[:]
	}
	if s.Error != "" {
		p.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: s.Error}
	}
	return p
}

// nanoseconds since 1970; no clock of ours is before.
func nanoseconds(at time.Time) uint64 { return uint64(max(at.UnixNano(), 0)) }

func attributes(list []Attribute) []*commonpb.KeyValue {
	out := make([]*commonpb.KeyValue, 0, len(list))
	for _, a := range list {
		value := &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: a.Number}}
		if a.Text != "" {
			value.Value = &commonpb.AnyValue_StringValue{StringValue: a.Text}
		}
		out = append(out, &commonpb.KeyValue{Key: a.Key, Value: value})
	}
	return out
}

// request is what a collector is sent: spans of one program.
func request(resource []Attribute, scope, version string, spans []*tracepb.Span) []*tracepb.ResourceSpans {
	return []*tracepb.ResourceSpans{{
		Resource:   &resourcepb.Resource{Attributes: attributes(resource)},
		ScopeSpans: []*tracepb.ScopeSpans{{Scope: &commonpb.InstrumentationScope{Name: scope, Version: version}, Spans: spans}},
	}}
}

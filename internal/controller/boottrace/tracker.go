package boottrace

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/cache/bounded"
	"github.com/farrier-dev/farrier/internal/otlp"
)

const (
	// maxBoots is how many attempts are followed: all of a fleet of ten thousand that boots at once. Together they are some 6 MB.
	maxBoots = 1 << 14
	// silence is how long nothing is heard of a boot that has ended.
	silence = 15 * time.Minute
	// recent is how old an attempt may be that a process has only read of: an older one is over, and a reboot of its machine is no step of it.
	recent = time.Hour
)

// Tracker follows boot attempts. A nil Tracker follows none.
type Tracker struct {
	clock clock.WithTicker
	// export takes spans and never waits; nil: nobody wants any.
	export *otlp.Exporter

	mu    sync.Mutex
	boots bounded.Map[string, *boot]
}

// boot is how far an attempt has come.
type boot struct {
	id, server, uuid, config, clean string
	number                          int
	at                              [steps]int64 // nanoseconds since 1970; 0: not reached, or unknown
	// seen: this process has seen it reach a step. ended: its root span is made.
	seen, ended bool
}

// New makes a Tracker that exports spans; nil: it makes none.
func New(c clock.WithTicker, export *otlp.Exporter) *Tracker {
	return &Tracker{clock: c, export: export}
}

// Learn takes note of an attempt that is under way, and of the steps that others have written of it.
func (t *Tracker) Learn(server *metalv1.Server, config *metalv1.ServerBootConfiguration, a *bootattempt.Attempt) {
	if t == nil || config == nil || !a.Begun() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	b, known := t.boots.Get(a.ID)
	if !known {
		newest := *a.Ordered
		for _, at := range []*time.Time{a.Off, a.Defaults, a.Started} {
			if at != nil && at.After(newest) {
				newest = *at
			}
		}
		if t.clock.Since(newest) > recent {
			return
		}
		b = t.add(server, config, a)
	}
	for s, at := range written(a) {
		if at != nil && b.at[s] == 0 {
			b.at[s] = at.UnixNano()
		}
	}
}

// Wrote tells that the steps of an attempt are written that it had not reached before; was is what stood there, which may be another attempt.
func (t *Tracker) Wrote(server *metalv1.Server, config *metalv1.ServerBootConfiguration, was, is *bootattempt.Attempt) {
	if t == nil || config == nil || !is.Begun() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before := [steps]*time.Time{}
	if was != nil && was.ID == is.ID {
		before = written(was)
	} else if was != nil {
		if b, known := t.boots.Get(was.ID); known {
			t.end(b, superseded)
		}
	}
	b, known := t.boots.Get(is.ID)
	if !known {
		b = t.add(server, config, is)
	}
	for s, at := range written(is) {
		switch {
		case at == nil:
		case before[s] != nil: // it is known from before this process
			b.at[s] = at.UnixNano()
		default:
			b.at[s] = 0 // the watch may have been first to tell of it
			t.reach(b, step(s), *at, nil)
		}
	}
}

// written are the steps that are written in an attempt.
func written(a *bootattempt.Attempt) (at [steps]*time.Time) {
	at[ordered], at[poweredOff], at[biosDefaults], at[poweredOn] = a.Ordered, a.Off, a.Defaults, a.Started
	return at
}

func (t *Tracker) add(server *metalv1.Server, config *metalv1.ServerBootConfiguration, a *bootattempt.Attempt) *boot {
	b := &boot{id: a.ID, number: a.Number, clean: string(a.Clean), config: config.Namespace + "/" + config.Name}
	if server != nil {
		b.server, b.uuid = server.Name, server.Spec.SystemUUID
	}
	t.boots.Put(a.ID, b, maxBoots)
	return b
}

// Delivered tells of an answer to a machine, or of a word of it. What is refused, or a stranger's, is no step.
func (t *Tracker) Delivered(d bootview.Delivery) {
	if t == nil || d.Attempt == "" || d.Stranger || d.Status >= 300 {
		return
	}
	s := stepOf(&d)
	t.mu.Lock()
	defer t.mu.Unlock()
	b, known := t.boots.Get(d.Attempt)
	if !known || b.at[s] != 0 {
		return
	}
	t.reach(b, s, d.Time, &d)
	if s.last() {
		t.end(b, reported)
	}
}

// reach notes that a boot has reached a step, counts how long that took and makes its span.
func (t *Tracker) reach(b *boot, s step, at time.Time, d *bootview.Delivery) {
	start, known := b.newestBefore(s, at)
	b.at[s], b.seen = at.UnixNano(), true
	if known {
		stepDurations.WithLabelValues(names[s]).Observe(at.Sub(start).Seconds())
	}
	if t.export == nil {
		return
	}
	span := otlp.Span{Trace: traceID(b.id), ID: spanID(b.id, names[s]), Parent: spanID(b.id, rootName), Name: names[s], Start: start, End: at, Attributes: b.attributes()}
	if d != nil {
		span.Attributes = append(span.Attributes, deliveryAttributes(d)...)
	}
	t.export.Export(span)
}

// newestBefore is when a boot reached the newest step that comes before s, as far as is known; otherwise it is at.
func (b *boot) newestBefore(s step, at time.Time) (start time.Time, known bool) {
	var newest int64
	for _, reached := range b.at[:s] {
		if reached <= at.UnixNano() {
			newest = max(newest, reached)
		}
	}
	if newest == 0 {
		return at, false
	}
	return time.Unix(0, newest), true
}

// end makes the root span of a boot, once, if this process has seen any of it.
func (t *Tracker) end(b *boot, outcome string) {
	if b.ended || !b.seen {
		return
	}
	b.ended = true
	var first, last int64
	for _, at := range b.at {
		if at != 0 && (first == 0 || at < first) {
			first = at
		}
		last = max(last, at)
	}
	if b.at[ordered] != 0 {
		bootDurations.WithLabelValues(outcome).Observe(time.Duration(last - first).Seconds())
	}
	if t.export == nil {
		return
	}
	root := otlp.Span{
		Trace: traceID(b.id), ID: spanID(b.id, rootName), Name: rootName, Start: time.Unix(0, first), End: time.Unix(0, last),
		Attributes: append(b.attributes(), otlp.Attribute{Key: "farrier.boot.outcome", Text: outcome}),
	}
	if outcome == superseded {
		root.Error = "another boot was ordered before the machine said that it had booted"
	}
	t.export.Export(root)
}

// Run ends boots of which nothing is heard any more, until ctx ends.
func (t *Tracker) Run(ctx context.Context) error {
	if t == nil {
		return nil
	}
	tick := t.clock.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C():
			t.endQuiet()
		}
	}
}

func (t *Tracker) endQuiet() {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.clock.Now().Add(-silence).UnixNano()
	for b := range t.boots.Values() {
		newest := int64(0)
		for _, at := range b.at {
			newest = max(newest, at)
		}
		if newest < before {
			t.end(b, quiet)
		}
	}
}

// attributes tell whose boot it is.
func (b *boot) attributes() []otlp.Attribute {
	out := make([]otlp.Attribute, 0, 10)
	for _, a := range []otlp.Attribute{
		{Key: "farrier.server", Text: b.server}, {Key: "farrier.system_uuid", Text: b.uuid}, {Key: "farrier.boot_configuration", Text: b.config},
		{Key: "farrier.boot.number", Number: int64(b.number)}, {Key: "farrier.boot.clean", Text: b.clean},
	} {
		if a.Text != "" || a.Number != 0 {
			out = append(out, a)
		}
	}
	return out
}

// deliveryAttributes tell what was given to whom.
func deliveryAttributes(d *bootview.Delivery) []otlp.Attribute {
	out := []otlp.Attribute{
		{Key: "client.address", Text: d.Addr}, {Key: "http.response.status_code", Number: int64(d.Status)}, {Key: "farrier.bytes", Number: d.Bytes},
		{Key: "farrier.delivery", Text: string(d.Kind)},
	}
	if d.What != "" {
		out = append(out, otlp.Attribute{Key: "farrier.file", Text: d.What})
	}
	return out
}

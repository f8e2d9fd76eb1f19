package outbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/farrier-dev/farrier/internal/bootstream/sealed"
	"github.com/farrier-dev/farrier/internal/bootstream/sealed/sealedtest"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
)

var start = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func open(t testing.TB, d *sealed.Dir) *Outbox {
	t.Helper()
	return Open(Config{Dir: d, Key: sealedtest.Key(t, 1), Logger: logr.Discard(), Clock: clocktesting.NewFakeClock(start)})
}

func delivery(uuid, addr string, at int) bootview.Delivery {
	return bootview.Delivery{
		Kind: bootview.DeliveredScript, Entry: "IPXEBootConfig/ns/" + uuid, UUID: uuid, Attempt: "1", Addr: addr,
		Time: start.Add(time.Duration(at) * time.Second), Status: 200, Bytes: 10,
	}
}

// manager counts what it is told, and ignores numbers that it has seen.
type manager struct {
	seen   map[string]uint64
	totals map[string]uint32
}

func (m *manager) tell(r *streampb.TellRequest) {
	if m.seen[r.GetInstance()] >= r.GetNumber() {
		return
	}
	m.seen[r.GetInstance()] = r.GetNumber()
	for _, d := range r.GetDeliveries() {
		m.totals[d.GetUuid()+" "+d.GetAddress()] += d.GetCount()
	}
}

// TestRestartsLoseAndRepeatNothing: whatever happens, and whenever the process is killed, a manager counts each delivery at most once; and each
// that was written, or part of a request, exactly once.
func TestRestartsLoseAndRepeatNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d, path := sealedtest.Dir(t, name)
		o := open(t, d)
		m := manager{map[string]uint64{}, map[string]uint32{}}
		added, sure := map[string]uint32{}, map[string]uint32{}
		for i := range rapid.IntRange(1, 25).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"add", "add", "add", "save", "tell", "lose", "kill"}).Draw(rt, "step") {
			case "add":
				uuid, addr := rapid.SampledFrom([]string{"u1", "u2", "u3"}).Draw(rt, "uuid"), rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2"}).Draw(rt, "address")
				o.Deliver(delivery(uuid, addr, i))
				added[uuid+" "+addr]++
			case "save":
				if err := o.Save(); err != nil {
					rt.Fatal(err)
				}
				sure = maps.Clone(added)
			case "tell", "lose": // the manager has it; in the second case its answer is lost
				lost := rapid.Bool().Draw(rt, "lost")
				if r := o.Next(rapid.IntRange(1, 4).Draw(rt, "most")); r != nil {
					m.tell(r)
					if !lost {
						o.Done(r.GetNumber())
					}
				}
			case "kill":
				content, err := os.ReadFile(path)
				if err != nil {
					rt.Fatal(err)
				}
				d, path = sealedtest.Dir(t, name)
				if err := os.WriteFile(path, content, 0o600); err != nil {
					rt.Fatal(err)
				}
				o = open(t, d)
				// What was neither written nor in a request is gone.
				for k, n := range added {
					added[k] = max(sure[k], min(n, m.totals[k]+waitingFor(o, &m, k)))
				}
			}
		}
		drain(rt, o, &m)
		for k, n := range added {
			if m.totals[k] < sure[k] || m.totals[k] != n {
				rt.Fatalf("%s: %d counted, %d written, %d added and not lost", k, m.totals[k], sure[k], n)
			}
		}
	})
}

// waitingFor counts what waits of a machine and address and that the manager is still to be told.
func waitingFor(o *Outbox, m *manager, k string) (n uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	count := func(d *streampb.Delivery) {
		if d.GetUuid()+" "+d.GetAddress() == k {
			n += d.GetCount()
		}
	}
	for _, it := range o.by {
		count(it.message.(*streampb.Delivery))
	}
	if m.seen[o.inFlight.GetInstance()] < o.inFlight.GetNumber() {
		for _, d := range o.inFlight.GetDeliveries() {
			count(d)
		}
	}
	return n
}

func drain(t rapid.TB, o *Outbox, m *manager) {
	t.Helper()
	for range 1000 {
		r := o.Next(3)
		if r == nil {
			return
		}
		m.tell(r)
		o.Done(r.GetNumber())
	}
	t.Fatal("there is always more")
}

// TestDeliveriesAreJoined compares with a naive grouping.
func TestDeliveriesAreJoined(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := Open(Config{Logger: logr.Discard()})
		want := map[string]*bootview.Delivery{}
		first, count := map[string]time.Time{}, map[string]uint32{}
		for i := range rapid.IntRange(1, 30).Draw(rt, "deliveries") {
			pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(rt, what) }
			d := delivery(pick("uuid", "", "u"), pick("address", "10.0.0.1", "::1"), rapid.IntRange(0, 9).Draw(rt, "at"))
			d.Entry, d.What, d.Attempt, d.MAC = pick("entry", "", "e"), pick("what", "", "kernel"), pick("attempt", "", "1"), ""
			d.Kind = bootview.DeliveryKind(pick("kind", "Script", "Artifact"))
			d.Status, d.Stranger, d.Bytes = rapid.SampledFrom([]int{200, 206, 404}).Draw(rt, "status"), rapid.Bool().Draw(rt, "stranger"), int64(i)
			k := fmt.Sprint(d.Entry, "|", d.Attempt, "|", d.UUID, "|", d.Kind, "|", d.What, "|", d.Addr, "|", d.Status, "|", d.Stranger)
			o.Deliver(d)
			count[k]++
			old, known := want[k]
			if !known {
				want[k], first[k] = &d, d.Time
				continue
			}
			old.Bytes += d.Bytes
			if d.Time.After(old.Time) {
				old.Time = d.Time
			}
			if d.Time.Before(first[k]) {
				first[k] = d.Time
			}
		}
		got := o.Next(1000).GetDeliveries()
		if len(got) != len(want) {
			rt.Fatalf("%d, want %d", len(got), len(want))
		}
		for _, g := range got {
			k := fmt.Sprint(g.GetEntry(), "|", g.GetAttempt(), "|", g.GetUuid(), "|", g.GetKind(), "|", g.GetWhat(), "|", g.GetAddress(), "|", g.GetStatus(), "|", g.GetStranger())
			w := want[k]
			if w == nil || !g.GetLast().AsTime().Equal(w.Time) || !g.GetFirst().AsTime().Equal(first[k]) || g.GetCount() != count[k] || g.GetBytes() != w.Bytes {
				rt.Fatalf("%v, want %v", g, w)
			}
		}
	})
}

func TestOtherKinds(t *testing.T) {
	d, _ := sealedtest.Dir(t, name)
	o := open(t, d)
	me, other := bootview.Caller{Addr: netip.MustParseAddr("10.0.0.1"), MAC: "m"}, bootview.Caller{Addr: netip.MustParseAddr("10.0.0.2")}
	for i, why := range []string{"first", "again"} {
		o.Alarm(bootview.Alarm{Server: "s", UUID: "u", Attempt: "1", What: bootview.DeliveredIgnition, Caller: other, Bound: me, Why: why, Time: start.Add(time.Duration(i))})
	}
	o.Sight(bootview.UnknownMachine{Address: "10.0.0.9", UUID: "old", Last: start})
	o.Sight(bootview.UnknownMachine{Address: "10.0.0.9", UUID: "new\xff", Path: strings.Repeat("x", 1000), Last: start})
	// Over DHCP a machine has no address yet.
	for n, mac := range []string{"52:54:00:00:00:01", "52:54:00:00:00:02", "52:54:00:00:00:01"} {
		o.Sight(bootview.UnknownMachine{MAC: mac, Architecture: "arm64", Path: "DHCP PXEClient", First: start, Last: start, Times: n})
	}
	for _, l := range []*streampb.Lease{
		{Mac: "02:fa:44:00:00:01", Address: "10.1.0.1", Held: slices.Repeat([]string{"10.1.0.1"}, 100), Addresses: 9, Host: "idrac-1", Vendor: strings.Repeat("x", 1000)},
		{Mac: "02:fa:44:00:00:02", Address: "10.1.0.2"},
		{Mac: "02:fa:44:00:00:02", Address: "10.1.0.2", Machine: true}, // it boots from the network now
		{Mac: "02:fa:44:00:00:03", Address: "10.1.0.3", Machine: true}, // which nobody has to hear of one that nobody has heard of
	} {
		o.Lease(l)
	}
	o.Bind("e", "1", other, false)
	o.Bind("e", "2", me, true)
	o.Early("s")
	o.Early("s")
	if err := o.Save(); err != nil {
		t.Fatal(err)
	}
	o.Close()
	o = open(t, d)
	defer o.Close()
	select {
	case <-o.News():
	default:
		t.Error("no news of what waits since before the start")
	}
	want := &streampb.TellRequest{
		Alarms: []*streampb.Alarm{{
			Server: "s", Uuid: "u", Attempt: "1", What: "Ignition", Why: "first", Caller: &streampb.Caller{Address: "10.0.0.2"},
			Bound: &streampb.Caller{Address: "10.0.0.1", Mac: "m"}, Time: callTime(),
		}},
		Sightings: []*streampb.Sighting{
			{Address: "10.0.0.9", Uuid: "new", Path: strings.Repeat("x", mostText), Time: callTime()},
			{Mac: "52:54:00:00:00:01", Architecture: "arm64", Path: "DHCP PXEClient", Time: callTime(), First: callTime(), Count: 2},
			{Mac: "52:54:00:00:00:02", Architecture: "arm64", Path: "DHCP PXEClient", Time: callTime(), First: callTime(), Count: 1},
		},
		Leases: []*streampb.Lease{
			{Mac: "02:fa:44:00:00:01", Address: "10.1.0.1", Held: slices.Repeat([]string{"10.1.0.1"}, maxHeld), Addresses: 9, Host: "idrac-1", Vendor: strings.Repeat("x", mostText)},
			{Mac: "02:fa:44:00:00:02", Address: "10.1.0.2", Machine: true},
		},
		Bindings: []*streampb.Binding{{Entry: "e", Attempt: "2", Caller: &streampb.Caller{Address: "10.0.0.1", Mac: "m"}, Proven: true}},
		Early:    []string{"s"},
	}
	if diff := cmp.Diff(want, o.Next(100), protocmp.Transform(), protocmp.IgnoreFields(want, "instance", "number")); diff != "" {
		t.Error(diff)
	}
}

// TestARequestStaysAsItIs: what is added later is in the next one, and a late Done means nothing.
func TestARequestStaysAsItIs(t *testing.T) {
	o := Open(Config{Logger: logr.Discard()})
	if o.Next(1) != nil {
		t.Error("a request of nothing")
	}
	o.Deliver(delivery("u", "10.0.0.1", 1))
	first := o.Next(5)
	before := proto.Clone(first)
	o.Deliver(delivery("u", "10.0.0.1", 2))
	o.Done(first.GetNumber() + 1)
	if again := o.Next(5); again != first || !proto.Equal(again, before) {
		t.Errorf("%v, want %v again", again, before)
	}
	o.Done(first.GetNumber())
	second := o.Next(5)
	if second.GetNumber() <= first.GetNumber() || second.GetDeliveries()[0].GetCount() != 1 {
		t.Errorf("%v", second)
	}
	o.Done(first.GetNumber())
	if o.Next(5) != second {
		t.Error("a late Done took a request away")
	}
}

// TestFloodsDropTheOldestOfTheirKind: strangers do not push out what becomes a condition.
func TestFloodsDropTheOldestOfTheirKind(t *testing.T) {
	d, _ := sealedtest.Dir(t, name)
	o := open(t, d)
	defer o.Close()
	o.limits = [classes]int{2, 2, 2, 2, 2, 2, 2}
	for i := range 500 {
		if i < 3 {
			o.Deliver(delivery(fmt.Sprint("u", i), "10.0.0.1", i))
		}
		stranger := delivery("u0", fmt.Sprint("10.9.0.", i), i)
		stranger.Stranger = true
		o.Deliver(stranger)
		o.Sight(bootview.UnknownMachine{Address: fmt.Sprint("2001:db8::", i), Last: start})
		if i%100 == 0 {
			if err := o.Save(); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := `
# HELP farrier_outbox_dropped_total Messages that were dropped because too many of their kind waited for a manager.
# TYPE farrier_outbox_dropped_total counter
farrier_outbox_dropped_total{kind="alarm"} 0
farrier_outbox_dropped_total{kind="binding"} 0
farrier_outbox_dropped_total{kind="delivery"} 1
farrier_outbox_dropped_total{kind="early"} 0
farrier_outbox_dropped_total{kind="lease"} 0
farrier_outbox_dropped_total{kind="minor_delivery"} 498
farrier_outbox_dropped_total{kind="sighting"} 498
# HELP farrier_outbox_messages Messages that wait for a manager, by kind.
# TYPE farrier_outbox_messages gauge
farrier_outbox_messages{kind="alarm"} 0
farrier_outbox_messages{kind="binding"} 0
farrier_outbox_messages{kind="delivery"} 2
farrier_outbox_messages{kind="early"} 0
farrier_outbox_messages{kind="lease"} 0
farrier_outbox_messages{kind="minor_delivery"} 2
farrier_outbox_messages{kind="sighting"} 2
`
	if err := testutil.CollectAndCompare(o, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	o.Close()
	o = open(t, d)
	var uuids []string
	for _, d := range o.Next(100).GetDeliveries() {
		uuids = append(uuids, d.GetUuid())
	}
	if diff := cmp.Diff([]string{"u1", "u2", "u0", "u0"}, uuids); diff != "" {
		t.Error(diff)
	}
}

// brokenFile cannot be written while broken is set.
type brokenFile struct {
	sealed.File
	broken *bool
}

func (f brokenFile) WriteAt(b []byte, at int64) (int, error) {
	if *f.broken {
		return 0, syscall.ENOSPC
	}
	return f.File.WriteAt(b, at)
}

// TestAFullDiskStopsNothing: all goes on in memory, Problems says so, and all is written once there is room.
func TestAFullDiskStopsNothing(t *testing.T) {
	d, _ := sealedtest.Dir(t, name)
	broken := false
	d.Wrap = func(f sealed.File) sealed.File { return brokenFile{f, &broken} }
	o := open(t, d)
	o.Deliver(delivery("u0", "10.0.0.1", 0))
	if err := o.Save(); err != nil || len(o.Problems()) != 0 {
		t.Fatal(err, o.Problems())
	}
	broken = true
	o.Deliver(delivery("u1", "10.0.0.1", 1))
	failed := new(sealed.WriteError)
	if err := o.Save(); !errors.As(err, &failed) || !failed.Full() || len(o.Problems()) != 1 {
		t.Fatal(err, o.Problems())
	}
	r := o.Next(1)
	if got := r.GetDeliveries()[0].GetUuid(); got != "u0" {
		t.Fatalf("%s", got)
	}
	o.Done(r.GetNumber())
	r = o.Next(1)
	o.Deliver(delivery("u2", "10.0.0.1", 2))
	broken = false
	if err := o.Save(); err != nil || len(o.Problems()) != 0 {
		t.Fatal(err, o.Problems())
	}
	o.Close()
	o = open(t, d)
	defer o.Close()
	if again := o.Next(1); !proto.Equal(again, r) {
		t.Errorf("%v, want %v", again, r)
	}
	o.Done(r.GetNumber())
	if next := o.Next(9); len(next.GetDeliveries()) != 1 || next.GetDeliveries()[0].GetUuid() != "u2" {
		t.Errorf("%v", next)
	}
}

func TestAFileThatCannotBeRead(t *testing.T) {
	d, path := sealedtest.Dir(t, name)
	o := open(t, d)
	o.Deliver(delivery("u", "10.0.0.1", 0))
	o.Close()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	o = Open(Config{Dir: d, Key: sealedtest.Key(t, 2), Logger: logr.Discard()})
	o.Deliver(delivery("other", "10.0.0.1", 0))
	if err := o.Close(); err != nil || len(o.Problems()) != 1 || !strings.Contains(o.Problems()[0], sealed.KeyFlag) {
		t.Errorf("another key: %v, %q", err, o.Problems())
	}
	if now, _ := os.ReadFile(path); string(now) != string(content) {
		t.Error("another key: the file was changed")
	}
	content[len(content)-20] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	now := clocktesting.NewFakeClock(start)
	o = Open(Config{Dir: d, Key: sealedtest.Key(t, 1), Logger: logr.Discard(), Clock: now})
	if p := o.Problems(); len(p) != 1 || !strings.Contains(p[0], "damaged") || o.Waiting() != 0 {
		t.Errorf("damaged: %q", p)
	}
	now.Step(unreadFor)
	if p := o.Problems(); len(p) != 0 {
		t.Errorf("after an hour: %q", p)
	}
	o.Deliver(delivery("u", "10.0.0.1", 0))
	o.Close()
	o = open(t, d)
	defer o.Close()
	if len(o.Problems()) != 0 || o.Waiting() != 1 {
		t.Errorf("written anew: %q, %d wait", o.Problems(), o.Waiting())
	}
}

// handClock has a ticker that a test moves by hand.
type handClock struct {
	clock.RealClock
	ticks chan time.Time
}

func (c handClock) NewTicker(time.Duration) clock.Ticker { return c }
func (c handClock) C() <-chan time.Time                  { return c.ticks }
func (c handClock) Stop()                                {}

func TestRunWritesWithEachTick(t *testing.T) {
	d, path := sealedtest.Dir(t, name)
	ticks := make(chan time.Time)
	o := Open(Config{Dir: d, Key: sealedtest.Key(t, 1), Logger: logr.Discard(), Clock: handClock{ticks: ticks}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { o.Run(ctx); close(ended) }()
	o.Deliver(delivery("u", "10.0.0.1", 0))
	ticks <- start
	ticks <- start // the one before is over
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-ended
	other, otherPath := sealedtest.Dir(t, name)
	if err := os.WriteFile(otherPath, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if waiting := open(t, other).Waiting(); waiting != 1 {
		t.Errorf("%d wait in the file", waiting)
	}
}

// TestTheFileStaysSmall: it is written anew when most of it is not needed.
func TestTheFileStaysSmall(t *testing.T) {
	d, path := sealedtest.Dir(t, name)
	o := open(t, d)
	defer o.Close()
	for i := range 60 {
		for j := range 200 {
			o.Deliver(delivery(fmt.Sprint("u", j, strings.Repeat("x", 150)), "10.0.0.1", i))
		}
		if err := o.Save(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() > 2*o.disk.base+slack+200<<10 {
			t.Fatalf("%d bytes, %v", info.Size(), err)
		}
	}
	if o.disk.base < 1<<10 {
		t.Error("never written anew")
	}
}

// FuzzFrames: whatever an authentic frame holds, it is taken over or refused.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{})
	w := writer{}
	w.number(fieldRemoved, 3)
	if err := w.message(fieldItem, &streampb.TellRequest{Number: 4, Early: []string{"s"}}); err != nil {
		f.Fatal(err)
	}
	f.Add(w.frame)
	f.Fuzz(func(t *testing.T, frame []byte) {
		l := loader{items: map[uint64]*streampb.TellRequest{}}
		if l.take(frame) != nil {
			return
		}
		o := Open(Config{Logger: logr.Discard()})
		o.restore(&l)
		for r := o.Next(10); r != nil; r = o.Next(10) {
			o.Done(r.GetNumber())
		}
	})
}

func BenchmarkDeliver(b *testing.B) {
	for _, c := range []struct {
		name string
		n    int
	}{{"like one that waits", 1000}, {"new", 1 << 30}} {
		b.Run(c.name, func(b *testing.B) {
			d, _ := sealedtest.Dir(b, name)
			o := open(b, d)
			uuids := make([]string, 1<<16)
			for i := range uuids {
				uuids[i] = fmt.Sprintf("%08d-0000-0000-0000-000000000000", i)
			}
			delivery := delivery("", "10.0.0.1", 0)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				delivery.UUID = uuids[i%min(c.n, len(uuids))]
				delivery.Bytes = int64(i)
				o.Deliver(delivery)
				i++
			}
		})
	}
}

func callTime() *timestamppb.Timestamp { return timestamppb.New(start) }

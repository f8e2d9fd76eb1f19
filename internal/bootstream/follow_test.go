package bootstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/test/await"
)

// manager serves a journal in memory.
type manager struct {
	*Server
	journal  *Journal
	listener *bufconn.Listener
	stop     func()
}

// receiver remembers what boot servers tell.
type receiver struct {
	mu   sync.Mutex
	told []*streampb.TellRequest
}

func (r *receiver) Tell(_ context.Context, _ Peer, m *streampb.TellRequest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, m)
	return nil
}

func (*receiver) Store(context.Context, Peer, *streampb.StoreRequest) (streampb.StoreResponse_Outcome, error) {
	return 0, errors.New("the API does not answer")
}

func newManager(t *testing.T, site string, change ...func(*ServerOptions)) *manager {
	t.Helper()
	m := &manager{journal: NewJournal(), listener: bufconn.Listen(1 << 20)}
	o := ServerOptions{
		Journal: m.journal, Identify: func(context.Context) (Peer, error) { return Peer{Name: "boot", Site: site}, nil },
		Receiver: &receiver{}, Heartbeat: 20 * time.Millisecond, Logger: testr.New(t),
	}
	for _, c := range change {
		c(&o)
	}
	m.Server = NewServer(o)
	server := grpc.NewServer(grpc.MaxRecvMsgSize(MaxMessage))
	streampb.RegisterBootStreamServer(server, m.Server)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(m.listener)
	}()
	m.stop = sync.OnceFunc(func() {
		server.Stop()
		<-served
	})
	t.Cleanup(m.stop)
	return m
}

// applied is what a boot server uses.
type applied struct {
	mu     sync.Mutex
	has    map[string]string
	synced bool
	// refuses a content.
	refuses string
}

func (a *applied) Apply(r *streampb.Record) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refuses != "" && r.GetMachine().Serial == a.refuses {
		return errors.New("cannot be used")
	}
	a.has[r.Key] = r.GetMachine().Serial
	return nil
}

func (a *applied) Delete(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.has, key)
}

func (a *applied) SetSynced(synced bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.synced = synced
}

func (a *applied) get() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.has)
}

func (a *applied) isSynced() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.synced
}

// network is where followers find managers by their addresses, and whose connections can be cut.
type network struct {
	mu       sync.Mutex
	managers map[string]*manager
	conns    []net.Conn
}

func (n *network) set(address string, m *manager) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.managers == nil {
		n.managers = map[string]*manager{}
	}
	n.managers[address] = m
}

func (n *network) dial(ctx context.Context, address string) (net.Conn, error) {
	n.mu.Lock()
	m := n.managers[address]
	n.mu.Unlock()
	if m == nil {
		return nil, errors.New("connection refused")
	}
	conn, err := m.listener.DialContext(ctx)
	if err == nil {
		n.mu.Lock()
		n.conns = append(n.conns, conn)
		n.mu.Unlock()
	}
	return conn, err
}

// cut ends every connection.
func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		_ = c.Close()
	}
	n.conns = nil
}

func (n *network) follow(t *testing.T, keeper Keeper, managers ...string) (*Follower, *applied) {
	t.Helper()
	a := &applied{has: map[string]string{}}
	f := n.follower(t, a, keeper, managers...)
	run(t, f)
	return f, a
}

func (n *network) follower(t *testing.T, a *applied, keeper Keeper, managers ...string) *Follower {
	t.Helper()
	return NewFollower(FollowerOptions{
		Managers: managers, Credentials: insecure.NewCredentials(), Applier: a, Keeper: keeper, Dial: n.dial, Logger: testr.New(t),
	})
}

// run runs a follower until the test ends, or the function it returns is called.
func run(t *testing.T, f *Follower) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = f.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

func same(a *applied, want map[string]string) func() bool {
	return func() bool { return maps.Equal(a.get(), want) }
}

func TestABootServerFollows(t *testing.T) {
	var n network
	m := newManager(t, "")
	n.set("one", m)
	m.journal.Put("", machine("Kind/ns/a", 1, "first"))
	m.journal.Put("elsewhere", machine("Kind/ns/b", 2, "of another site"))
	f, a := n.follow(t, nil, "one")
	await.True(t, "snapshot", func() bool { return a.isSynced() && maps.Equal(a.get(), map[string]string{"Kind/ns/a": "first"}) })
	m.journal.Put("", machine("Kind/ns/a", 3, "second"))
	m.journal.Put("", machine("Kind/ns/b", 4, "moved here"))
	await.True(t, "changes", same(a, map[string]string{"Kind/ns/a": "second", "Kind/ns/b": "moved here"}))
	m.journal.Put("elsewhere", machine("Kind/ns/b", 5, "moved away"))
	m.journal.Delete("Kind/ns/a")
	await.True(t, "deletions", same(a, map[string]string{}))
	if s := f.State(); s.Manager != "one" || !s.Synced || s.Epoch != m.journal.Epoch() {
		t.Errorf("state %+v", s)
	}
}

func TestANetworkThatBreaks(t *testing.T) {
	var n network
	m := newManager(t, "")
	n.set("one", m)
	want := map[string]string{}
	for i := range 3000 {
		key := fmt.Sprintf("Kind/ns/%d", i)
		want[key] = "first"
		m.journal.Put("", machine(key, 1, "first"))
	}
	_, a := n.follow(t, nil, "one")
	rnd := rand.New(rand.NewPCG(7, 7))
	for i := range 40 { // also in the middle of the snapshot
		n.cut()
		key := fmt.Sprintf("Kind/ns/%d", rnd.IntN(3000))
		if i%3 == 0 {
			delete(want, key)
			m.journal.Delete(key)
			continue
		}
		want[key] = fmt.Sprint(i)
		m.journal.Put("", machine(key, uint64(i+2), want[key]))
	}
	await.True(t, "all changes in spite of cuts", same(a, want))
}

// observed says what a manager's view was made of.
func observed(version uint64) func(*ServerOptions) {
	return func(o *ServerOptions) {
		o.Observed = func() map[string]uint64 { return map[string]uint64{"Kind": version} }
	}
}

func TestAManagerThatLagsBehindIsNotFollowed(t *testing.T) {
	var n network
	tried := make(chan struct{}, 100)
	current, lagging := newManager(t, "", observed(20)), newManager(t, "", observed(10), func(o *ServerOptions) {
		o.Identify = func(context.Context) (Peer, error) {
			tried <- struct{}{}
			return Peer{}, nil
		}
	})
	lagging.journal.Put("", machine("Kind/ns/released", 9, "ignition of a tenant who has gone"))
	n.set("current", current)
	current.journal.Put("", machine("Kind/ns/a", 15, "a"))
	f, a := n.follow(t, nil, "current", "lagging")
	await.True(t, "snapshot", same(a, map[string]string{"Kind/ns/a": "a"}))
	await.True(t, "heartbeat", a.isSynced)
	current.stop()
	n.set("lagging", lagging)
	n.set("current", nil)
	for range 2 {
		await.Receive(t, "attempt to follow a manager that lags behind", tried)
	}
	if s := f.State(); s.Manager != "" || !maps.Equal(a.get(), map[string]string{"Kind/ns/a": "a"}) {
		t.Errorf("follows %q and has %v", s.Manager, a.get())
	}
	next := newManager(t, "", observed(21))
	next.journal.Put("", machine("Kind/ns/b", 21, "b"))
	n.set("lagging", next)
	await.True(t, "snapshot of a manager that does not lag behind", same(a, map[string]string{"Kind/ns/b": "b"}))
}

// TestAMachineThatComesBack: a server is released while the manager is replaced, and claimed again. Counters of the former manager, which has
// run for long, say nothing of those of the next.
func TestAMachineThatComesBack(t *testing.T) {
	var n network
	var d disk
	former, next := newManager(t, "", observed(20)), newManager(t, "", observed(30))
	for range 100 {
		former.journal.Put("", machine("Kind/ns/a", 10, "first claim"))
	}
	n.set("one", former)
	a := &applied{has: map[string]string{}}
	stop := run(t, n.follower(t, a, &d, "one"))
	await.True(t, "snapshot", func() bool { return a.isSynced() && same(a, map[string]string{"Kind/ns/a": "first claim"})() })
	n.set("one", next)
	former.stop()
	await.True(t, "the release", same(a, map[string]string{}))
	next.journal.Put("", machine("Kind/ns/a", 31, "second claim"))
	await.True(t, "the second claim", same(a, map[string]string{"Kind/ns/a": "second claim"}))
	stop()

	next.journal.Delete("Kind/ns/a")
	next.journal.Put("", machine("Kind/ns/a", 32, "third claim"))
	a = &applied{has: map[string]string{}}
	f := n.follower(t, a, &d, "one")
	f.Load(d.kept())
	run(t, f)
	await.True(t, "the third claim", same(a, map[string]string{"Kind/ns/a": "third claim"}))
}

// oneName notes whether a machine was ever held under two names.
type oneName struct {
	applied
	twice atomic.Bool
}

func (o *oneName) Apply(r *streampb.Record) error {
	serial := r.GetMachine().Serial
	for key, held := range o.get() {
		if held == serial && key != r.Key {
			o.twice.Store(true)
		}
	}
	return o.applied.Apply(r)
}

// TestAMachineOfAnotherNameIsHeldOnce: an object was made anew under another name while the boot server followed nobody. Two names of one machine are a
// conflict, which boots nothing, so the old one goes before the new one is used; and nobody is told that the new one is in use before it is.
func TestAMachineOfAnotherNameIsHeldOnce(t *testing.T) {
	var n network
	first, second := newManager(t, "", observed(17)), newManager(t, "", observed(30))
	first.journal.Put("", machine("Kind/ns/old", 5, "node-7"))
	first.journal.Put("", machine("Kind/ns/stays", 6, "node-8"))
	second.journal.Put("", machine("Kind/ns/new", 20, "node-7"))
	second.journal.Put("", machine("Kind/ns/stays", 21, "node-8"))
	n.set("first", first)
	a := &oneName{applied: applied{has: map[string]string{}}}
	f := NewFollower(FollowerOptions{
		Managers: []string{"first", "second"}, Credentials: insecure.NewCredentials(), Applier: a, Dial: n.dial, Logger: testr.New(t),
	})
	run(t, f)
	await.True(t, "the first snapshot", a.isSynced)
	n.set("second", second)
	n.set("first", nil)
	first.stop()
	await.True(t, "the other name", same(&a.applied, map[string]string{"Kind/ns/new": "node-7", "Kind/ns/stays": "node-8"}))
	if a.twice.Load() {
		t.Error("the machine was held under two names")
	}
	await.True(t, "its acknowledgement", func() bool { r, _ := second.Reach("Kind/ns/new"); return r == Reached })
}

// TestWhatAManagerHasNotSeenIsNotGone: a boot server goes from one manager to another that has not seen the newest object yet, and back.
func TestWhatAManagerHasNotSeenIsNotGone(t *testing.T) {
	var n network
	var seen atomic.Uint64
	seen.Store(17)
	first := newManager(t, "", observed(17), func(o *ServerOptions) { o.Heartbeat = time.Hour }) // nothing after the first snapshot
	lagging := newManager(t, "", func(o *ServerOptions) {
		o.Observed = func() map[string]uint64 { return map[string]uint64{"Kind": seen.Load(), "Other": 3} }
	})
	n.set("first", first)
	f, a := n.follow(t, nil, "first", "lagging")
	await.True(t, "snapshot", a.isSynced)
	first.journal.Put("", machine("Kind/ns/new", 18, "new"))
	first.journal.Put("", machine("Kind/ns/released", 18, "released since"))
	both := map[string]string{"Kind/ns/new": "new", "Kind/ns/released": "released since"}
	await.True(t, "what is new", same(a, both))
	n.set("lagging", lagging)
	n.set("first", nil)
	first.stop()
	await.True(t, "the manager that lags behind", func() bool { return f.State().Epoch == lagging.journal.Epoch() })
	if !same(a, both)() {
		t.Errorf("it has %v of a manager that has not seen more", a.get())
	}
	lagging.journal.Put("", machine("Kind/ns/new", 18, "new"))
	seen.Store(19)
	await.True(t, "what the manager has seen by now", same(a, map[string]string{"Kind/ns/new": "new"}))
	lagging.journal.Put("", machine("Kind/ns/released", 20, "claimed again"))
	await.True(t, "what it makes anew", same(a, map[string]string{"Kind/ns/new": "new", "Kind/ns/released": "claimed again"}))
}

func TestADeletionIsNotTakenBackByAnOlderRecord(t *testing.T) {
	h := newHoldings()
	h.take("one", machine("k", 5, ""))
	h.take("one", &streampb.Record{Key: "k", Counter: 9, Version: 5, Body: &streampb.Record_Deleted{Deleted: &streampb.Deleted{}}})
	for _, c := range []struct {
		what    string
		epoch   string
		counter uint64
		version uint64
		news    bool
	}{
		{"the same objects, by a manager that does not know of the deletion", "two", 1, 5, false},
		{"older objects", "two", 1, 4, false},
		{"made anew", "two", 1, 6, true},
		{"made anew by the same manager", "one", 10, 5, true},
		{"an earlier change of the same manager", "one", 8, 7, false},
	} {
		r := machine("k", c.version, "")
		r.Counter = c.counter
		if got := h.news(c.epoch, r); got != c.news {
			t.Errorf("%s: news %v, want %v", c.what, got, c.news)
		}
	}
}

// TestWhatWasAbsentComesBack: what one manager counted says nothing of what the next one counts.
func TestWhatWasAbsentComesBack(t *testing.T) {
	var n network
	first, next := newManager(t, ""), newManager(t, "")
	for version := range uint64(100) {
		first.journal.Put("", machine("Kind/ns/a", version+1, "before"))
	}
	n.set("one", first)
	_, a := n.follow(t, nil, "one")
	await.True(t, "snapshot", same(a, map[string]string{"Kind/ns/a": "before"}))
	n.set("one", next)
	first.stop()
	await.True(t, "the snapshot without it", same(a, map[string]string{}))
	next.journal.Put("", machine("Kind/ns/a", 200, "again"))
	await.True(t, "the object that was made anew", same(a, map[string]string{"Kind/ns/a": "again"}))
}

func TestARecordThatCannotBeUsedIsRefused(t *testing.T) {
	var n network
	reached := make(chan []string, 8)
	m := newManager(t, "", func(o *ServerOptions) { o.Reached = func(keys []string) { reached <- keys } })
	n.set("one", m)
	m.journal.Put("", machine("Kind/ns/a", 1, "good"))
	a := &applied{has: map[string]string{}, refuses: "bad"}
	run(t, n.follower(t, a, nil, "one"))
	await.True(t, "snapshot", a.isSynced)
	m.journal.Put("", machine("Kind/ns/a", 2, "bad"))
	await.True(t, "refusal", func() bool { r, why := m.Reach("Kind/ns/a"); return r == Refused && why == "cannot be used" })
	if got := a.get()["Kind/ns/a"]; got != "good" {
		t.Errorf("the boot server uses %q, want the last good record", got)
	}
	m.journal.Put("", machine("Kind/ns/a", 3, "good again"))
	await.True(t, "acknowledgement", func() bool { r, _ := m.Reach("Kind/ns/a"); return r == Reached })
	await.True(t, "end of the refusal", func() bool { b := m.BootServers(); return len(b) == 1 && len(b[0].Refused) == 0 })
}

// TestWhatWasRefusedIsAskedForAgain: the manager hears of a refusal on each connection, and a boot server that starts again, in a newer version
// perhaps, gets what it refused before.
func TestWhatWasRefusedIsAskedForAgain(t *testing.T) {
	var n network
	var d disk
	m := newManager(t, "")
	n.set("one", m)
	m.journal.Put("", machine("Kind/ns/a", 1, "bad"))
	m.journal.Put("", machine("Kind/ns/b", 2, "good"))
	a := &applied{has: map[string]string{}, refuses: "bad"}
	stop := run(t, n.follower(t, a, &d, "one"))
	refused := func() bool { r, _ := m.Reach("Kind/ns/a"); return r == Refused }
	await.True(t, "refusal", func() bool { return refused() && a.isSynced() })
	before := m.BootServers()[0].Since
	n.cut()
	await.True(t, "another connection", func() bool {
		b := m.BootServers()
		return len(b) == 1 && b[0].Since.After(before) && b[0].Acked >= m.journal.Counter()
	})
	if !refused() {
		t.Error("on another connection a manager takes what was refused to be in use")
	}
	m.journal.Put("", machine("Kind/ns/c", 3, "later"))
	await.True(t, "a later record kept", func() bool {
		kept := d.kept()
		return slices.ContainsFunc(kept.Records, func(r *streampb.Record) bool { return r.Key == "Kind/ns/c" }) && kept.Progress != nil
	})
	stop()
	a = &applied{has: map[string]string{}}
	f := n.follower(t, a, &d, "one")
	f.Load(d.kept())
	run(t, f)
	await.True(t, "what was refused", same(a, map[string]string{"Kind/ns/a": "bad", "Kind/ns/b": "good", "Kind/ns/c": "later"}))
	// And the other way round: what an older version cannot use any longer.
	await.True(t, "everything kept", func() bool { return d.kept().Progress.Position.GetCounter() == m.journal.Counter() })
	a = &applied{has: map[string]string{}, refuses: "good"}
	f = n.follower(t, a, nil, "one")
	f.Load(d.kept())
	if got := f.held.resume().GetCounter(); got != 1 {
		t.Errorf("it asks for what comes after %d, want what it cannot use, and all after that", got)
	}
}

func TestWhoAsksIsToldWhenARecordIsReached(t *testing.T) {
	var n network
	reached := make(chan []string, 8)
	m := newManager(t, "a", func(o *ServerOptions) { o.Reached = func(keys []string) { reached <- keys } })
	n.set("one", m)
	m.journal.Put("a", machine("Kind/ns/a", 1, ""))
	if r, _ := m.Reach("Kind/ns/a"); r != NoFollower {
		t.Errorf("without a boot server: %v", r)
	}
	if r, _ := m.Reach("Kind/ns/unknown"); r != NotReached {
		t.Errorf("of an unknown key: %v", r)
	}
	n.follow(t, nil, "one")
	if keys := await.Receive(t, "acknowledgement", reached); len(keys) != 1 || keys[0] != "Kind/ns/a" {
		t.Errorf("told of %v", keys)
	}
	if r, _ := m.Reach("Kind/ns/a"); r != Reached {
		t.Errorf("acknowledged: %v", r)
	}
}

// disk is a keeper that can be full.
type disk struct {
	mu   sync.Mutex
	full bool
	// records are in the order in which they were kept.
	records  []*streampb.Record
	progress *Progress
}

var errFull = errors.New("no space left on device")

func (d *disk) Append(records []*streampb.Record, progress *Progress) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full {
		return errFull
	}
	d.records = append(d.records, records...)
	if progress != nil {
		d.progress = progress
	}
	return nil
}

func (d *disk) setFull(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

// kept is what a boot server that starts now finds.
func (d *disk) kept() Kept {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := Kept{Progress: d.progress}
	for i, r := range d.records {
		if !slices.ContainsFunc(d.records[i+1:], func(o *streampb.Record) bool { return o.Key == r.Key }) {
			k.Records = append(k.Records, r)
		}
	}
	return k
}

func TestABootServerStartsWithWhatItKept(t *testing.T) {
	var n network
	var d disk
	m := newManager(t, "", observed(3))
	n.set("one", m)
	m.journal.Put("", machine("Kind/ns/a", 1, "a"))
	m.journal.Put("", machine("Kind/ns/b", 2, "b"))
	a := &applied{has: map[string]string{}}
	stop := run(t, n.follower(t, a, &d, "one"))
	await.True(t, "snapshot", a.isSynced)
	stop()
	m.journal.Delete("Kind/ns/a")
	m.journal.Put("", machine("Kind/ns/c", 3, "c"))

	a = &applied{has: map[string]string{}}
	f := n.follower(t, a, &d, "one")
	f.Load(d.kept())
	if !same(a, map[string]string{"Kind/ns/a": "a", "Kind/ns/b": "b"})() {
		t.Errorf("without a manager it has %v", a.get())
	}
	if s := f.State(); s.Synced || s.Heard.IsZero() || s.SecretsUntil.IsZero() {
		t.Errorf("state before it follows: %+v", s)
	}
	run(t, f)
	await.True(t, "what it missed", same(a, map[string]string{"Kind/ns/b": "b", "Kind/ns/c": "c"}))
}

func TestAFullDiskDoesNotEndFollowing(t *testing.T) {
	var n network
	var d disk
	m := newManager(t, "")
	n.set("one", m)
	m.journal.Put("", machine("Kind/ns/a", 1, "a"))
	f, a := n.follow(t, &d, "one")
	await.True(t, "snapshot", a.isSynced)
	d.setFull(true)
	m.journal.Put("", machine("Kind/ns/b", 2, "b"))
	m.journal.Delete("Kind/ns/a")
	await.True(t, "changes", same(a, map[string]string{"Kind/ns/b": "b"}))
	await.True(t, "the problem", func() bool { return errors.Is(f.State().KeepError, errFull) })
	if p := d.kept().Progress.Position; p.GetCounter() > 1 {
		t.Errorf("the disk is said to have everything up to %d", p.GetCounter())
	}
	d.setFull(false)
	await.True(t, "the disk to have it", func() bool {
		k := d.kept()
		last := &applied{has: map[string]string{}}
		n.follower(t, last, nil, "one").Load(k)
		return k.Progress.Position.GetCounter() == m.journal.Counter() && maps.Equal(last.get(), map[string]string{"Kind/ns/b": "b"})
	})
	await.True(t, "the end of the problem", func() bool { return f.State().KeepError == nil })
}

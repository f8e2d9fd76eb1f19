package bootstream

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/test/await"
)

const (
	fleetSize = 300
	// payloadSize of machines that each have an ignition of their own, so that a snapshot has several messages.
	payloadSize = 3000
)

func uuidOf(machine int) string { return fmt.Sprintf("9f2b4c1e-0d3a-4e5f-8a7b-%012x", machine) }

// entryOf is what there is for a machine in a generation, which its script says.
func entryOf(t *testing.T, machine, generation int) bootview.Entry {
	t.Helper()
	e := tenants(t, uint64(generation), "")
	e.Name, e.UUID = fmt.Sprintf("IPXEBootConfig/default/machine-%d", machine), uuidOf(machine)
	e.Terms.Server = fmt.Sprintf("machine-%d", machine)
	e.Attempt.Token = fmt.Sprintf("%s-%d", token, machine)
	var err error
	if e.Script, err = bootview.DefaultScript(bootview.DefaultScriptParams{
		KernelURL: fmt.Sprintf("http://images.example/generation-%d", generation), InitrdURL: "http://images.example/initrd", Attempt: e.Attempt,
	}); err != nil {
		t.Fatal(err)
	}
	e.Ignition = &bootview.Ignition{Payload: bytes.Repeat(fmt.Appendf(nil, "%d of %d, ", generation, machine), payloadSize/16), ContentType: "application/json"}
	return e
}

var generationOf = regexp.MustCompile(`generation-(\d+)`)

// generation is what a machine is told; 0: that there is nothing for it, and -1: nothing at all.
func (b *bootServer) generation(machine int) int {
	status, script := b.get("/ipxe/" + uuidOf(machine))
	switch found := generationOf.FindStringSubmatch(script); {
	case status == http.StatusNotFound:
		return 0
	case status != http.StatusOK || found == nil:
		return -1
	default:
		n, _ := strconv.Atoi(found[1])
		return n
	}
}

// likeTheManager says what machines are told otherwise than the manager's own boot server would; empty: nothing.
func (b *bootServer) likeTheManager(m *manager) string {
	b.t.Helper()
	server, err := bootserver.New(bootserver.Config{View: m.view, BootURL: bootURL, Logger: logr.Discard()})
	if err != nil {
		b.t.Fatal(err)
	}
	m.view.SetSynced(true)
	its := &bootServer{t: b.t, handler: server.Handler()}
	for machine := range fleetSize {
		for _, path := range []string{"/ipxe/" + uuidOf(machine), fmt.Sprintf("/ignition/%s?token=%s-%d", uuidOf(machine), token, machine)} {
			status, body := b.get(path)
			if wantStatus, want := its.get(path); status != wantStatus || body != want {
				return fmt.Sprintf("%s: %d %.200q, want %d %.200q", path, status, body, wantStatus, want)
			}
		}
	}
	return ""
}

// watch asks for machines all the time until stop is called. Nobody is told anything older than before, and what there is nothing for has no answer
// but that. Machines that may be released are told so; all others always get their script.
func (b *bootServer) watch(seed uint64, mayGo func(machine int) bool) (stop func(), answers *atomic.Int64) {
	over, answers := make(chan struct{}), &atomic.Int64{}
	var done sync.WaitGroup
	done.Go(func() {
		last := [fleetSize]int{}
		random := rand.New(rand.NewPCG(seed, 1))
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			machine := random.IntN(fleetSize)
			now := b.generation(machine)
			switch {
			case now < 0 || now == 0 && !mayGo(machine):
				b.t.Errorf("machine %d gets no script (%d)", machine, now)
			case now > 0 && now < last[machine]:
				b.t.Errorf("machine %d is told generation %d after %d", machine, now, last[machine])
			case now > 0:
				last[machine] = now
			}
			answers.Add(1)
		}
	})
	stop = sync.OnceFunc(func() {
		close(over)
		done.Wait()
	})
	b.t.Cleanup(stop)
	return stop, answers
}

// TestTheNetworkBreaksInASnapshot: a manager is replaced, and the network to the next one breaks in the middle of its snapshot, anywhere: it is cut, or
// nothing comes through any more on a connection that stays open. Answers of the former view go on meanwhile, nobody goes back, and in the
// end machines are told what the manager would tell them.
func TestTheNetworkBreaksInASnapshot(t *testing.T) {
	t.Parallel()
	p := newPKI(t)
	former, next := p.startManager(1, "boot-1"), p.startManager(2, "boot-1")
	// Machines that leave are released while the manager is replaced; another is released and claimed again.
	leaves := func(machine int) bool { return machine%10 == 3 }
	for machine := range fleetSize {
		former.view.Put(entryOf(t, machine, 1))
		if !leaves(machine) {
			next.view.Put(entryOf(t, machine, 2))
		}
	}
	servers, lines := make([]*bootServer, 8), make([]*line, 8)
	for i := range servers {
		lines[i] = newLine(t, former.address)
		servers[i] = p.startBootServer("boot-1", nil, lines[i].address)
	}
	for i, b := range servers {
		await.True(t, "the view of the former manager", func() bool { return b.follower.State().Synced })
		_, answers := b.watch(uint64(i), leaves)
		await.True(t, "answers", func() bool { return answers.Load() > 0 })
	}
	snapshot := lines[0].carried()
	former.stop()
	random := rand.New(rand.NewPCG(14, 14))
	for i, l := range lines {
		ills := []fault{{cut, random.IntN(snapshot)}, {swallow, swallowedFrom + random.IntN(snapshot*3/4)}, {cut, random.IntN(snapshot)}}
		t.Logf("line %d: of %d bytes %+v", i, snapshot, ills)
		l.leads(next.address, ills...)
	}
	changeWhile(t, next, leaves, func() bool {
		for _, l := range lines {
			if !l.struck() {
				return true
			}
		}
		return false
	})
	for i, b := range servers {
		await.Until(t, fmt.Sprintf("boot server %d tells what the manager tells", i), func() string { return b.likeTheManager(next) })
		if s := b.follower.State(); s.Epoch != next.journal.Epoch() {
			t.Errorf("boot server %d follows epoch %s", i, s.Epoch)
		}
	}
}

// swallowedFrom is beyond the handshake, whose end gRPC waits for longer than a test likes to.
const swallowedFrom = 16 << 10

// changeWhile has machines get another generation, and others leave and come back, for as long as something holds.
func changeWhile(t *testing.T, m *manager, leaves func(int) bool, holds func() bool) {
	t.Helper()
	random := rand.New(rand.NewPCG(15, 15))
	generation := 2
	await.True(t, "the faults of all lines", func() bool {
		generation++
		m.observed.Store(uint64(generation)) // which is the version of the entry
		machine := random.IntN(fleetSize)
		if e := entryOf(t, machine, generation); leaves(machine) && generation%2 == 0 {
			m.view.Delete(e.Name)
		} else {
			m.view.Put(e)
		}
		return !holds()
	})
}

// TestABootServerThatHearsNothingLooksForAnotherManager: heartbeats that do not come end a connection that nobody has closed.
func TestABootServerThatHearsNothingLooksForAnotherManager(t *testing.T) {
	t.Parallel()
	p := newPKI(t)
	mute, other := p.startManager(1, "boot-1"), p.startManager(1, "boot-1")
	mute.view.Put(entryOf(t, 1, 1))
	other.view.Put(entryOf(t, 1, 2))
	l := newLine(t, mute.address)
	l.leads(mute.address, fault{swallow, 12 << 10})
	b := p.startBootServer("boot-1", nil, l.address, other.address)
	await.True(t, "the view of the first manager", func() bool { return b.generation(1) == 1 })
	await.True(t, "the view of the other one", func() bool { return b.generation(1) == 2 })
	if s := b.follower.State(); s.Manager != other.address {
		t.Errorf("it follows %q", s.Manager)
	}
}

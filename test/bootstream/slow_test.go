package bootstream

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/test/await"
)

const (
	// stormChanges of stormMachines are a hundred times as much as what is held of them.
	stormChanges, stormMachines = 1200, 12
	stormPayload                = 64 << 10
	// stormMemory is what may be in use for a storm of some 75 MB.
	stormMemory = 36 << 20
	// forgotten is more than the number of deletions that a manager remembers.
	forgotten = 70_000
)

// TestASlowBootServerAmongFastOnes: one reads a byte a second. Others are told every change all the same, whoever makes changes waits for nobody,
// what waits for the slow one takes no room, and when it can read again it is told that it has missed deletions, and gets a snapshot.
func TestASlowBootServerAmongFastOnes(t *testing.T) {
	p := newPKI(t)
	m := p.startManagerWith(managerOptions{observed: 1, heartbeat: bootstream.DefaultHeartbeat}, "boot-1", "boot-slow")
	for machine := range stormMachines {
		m.view.Put(heavy(t, machine, 1))
	}
	l := newLine(t, m.address)
	l.leads(m.address, slices.Repeat([]fault{{trickle, 32 << 10}}, 100)...) // it loses its patience where the storm takes long, and calls anew
	slow, fast := p.startBootServer("boot-slow", nil, l.address), [2]*bootServer{}
	for i := range fast {
		fast[i] = p.startBootServer("boot-1", nil, m.address)
	}
	await.True(t, "a boot server whose snapshot does not come through", func() bool { return slow.follower.State().Manager != "" })
	before := inUse()
	for change := range stormChanges {
		m.view.Put(heavy(t, change%stormMachines, 2+change))
		if change%100 != 0 {
			continue
		}
		for _, b := range fast { // while the slow one still reads the first
			await.True(t, "a change at a fast boot server", func() bool { return b.generation(change%stormMachines) == 2+change })
		}
	}
	if grown := inUse() - before; grown > stormMemory {
		t.Errorf("%d MB are in use for what a slow boot server has not read", grown>>20)
	}
	last := stormChanges + 1
	for _, b := range fast {
		await.True(t, "the last change at a fast boot server", func() bool { return b.generation((last-2)%stormMachines) == last })
	}
	if s := slow.follower.State(); s.Synced || m.gaps.Load() != 0 {
		t.Fatalf("the slow boot server is not slow: %+v, %d gaps", s, m.gaps.Load())
	}
	reaches(t, m, "boot-slow", heavy(t, 0, 1).Name)
	calls := m.asked.Load()
	for machine := range forgotten {
		r := &streampb.Record{Key: fmt.Sprintf("Instance/passing/%d", machine), Body: &streampb.Record_Instance{Instance: &streampb.Instance{}}}
		m.journal.Put(booturl.EverySite, r)
		m.journal.Delete(r.Key)
	}
	l.mend()
	await.True(t, "the slow boot server has everything", func() bool {
		return slow.follower.State().Synced && slow.generation((last-2)%stormMachines) == last
	})
	// On a busy machine the manager's silence may outlast the patience of the slow one, which then calls anew and gets a snapshot without a gap.
	if m.gaps.Load() == 0 && m.asked.Load() == calls {
		t.Error("nobody was told of deletions that are forgotten")
	}
	await.Until(t, "the slow boot server tells what the manager tells", func() string { return slow.likeTheManager(m) })
}

// reaches checks that a record counts as in use while a boot server has not acknowledged it, for others have.
func reaches(t *testing.T, m *manager, slow, key string) {
	t.Helper()
	await.True(t, "the acknowledgement of a fast boot server", func() bool { r, _ := m.server.Reach(key); return r == bootstream.Reached })
	counter, _ := m.journal.CounterOf(key)
	for _, b := range m.server.BootServers() {
		if b.Peer.Name == slow && b.Acked >= counter {
			t.Errorf("the slow boot server has acknowledged %d", b.Acked)
		}
	}
}

// heavy is an entry with a payload that no other generation shares.
func heavy(t *testing.T, machine, generation int) bootview.Entry {
	t.Helper()
	e := entryOf(t, machine, generation)
	payload := make([]byte, stormPayload)
	copy(payload, fmt.Sprintf("%d of %d", generation, machine))
	e.Ignition.Payload = payload
	return e
}

func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

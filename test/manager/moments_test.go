package manager

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/seed"
)

const (
	// living machines have so many lives each, from free to free, and the manager is killed so often meanwhile.
	living, lives, kills = 4, 2, 20
	// mostWrites is how many writes after its start, at most, a manager is killed; quiet is after how long without one.
	mostWrites = 80
	quiet      = 6 * time.Second
)

// chapter is how far a life has come.
type chapter string

const (
	unclaimed  chapter = "unclaimed"
	bootsClaim chapter = "boots its claim"
	runsClaim  chapter = "runs its claim"
	givenBack  chapter = "given back"
	over       chapter = "over"
)

// life is one machine, and what was seen of it.
type life struct {
	number  int
	is      chapter
	lived   int
	claim   *metalv1.ServerClaim
	resets  map[string]int // from when it runs for its claim
	outlive int            // kills that it runs through
}

// moments is a site whose machines live while its manager is killed.
type moments struct {
	*stand
	lives  []*life
	random *rand.Rand
	writes atomic.Int64  // of anybody
	wrote  chan struct{} // something was written
	killed int
}

// TestKilledAtAnyMoment: machines are discovered, claimed, booted, released and cleaned, more than once, while the manager is
// killed at moments between two writes, whichever. A machine that runs for its claim is never switched; each is switched on once
// for its discovery, each claim and each cleanup, so none is wiped twice; none is free that was not wiped; and all lives complete.
func TestKilledAtAnyMoment(t *testing.T) {
	m := newMoments(t)
	for m.killed < kills && !m.allOver() {
		m.killOnce()
	}
	t.Logf("killed %d times", m.killed)
	launch(t, "last", m.args...)
	m.complete()
}

// newMoments makes a site whose machines are known, and whose lives begin as soon as somebody acts.
func newMoments(t *testing.T) *moments {
	t.Helper()
	// The boot server goes with the manager: firmware that finds nobody asks again.
	retries := func(o *sim.Options) { o.Timing.BootRetry = 100 * time.Millisecond }
	m := &moments{stand: &stand{site: newSiteOf(t, living, retries)}, random: rand.New(rand.NewPCG(seed.New(t), 0)), wrote: make(chan struct{}, 1)}
	if err := bootv1.AddToScheme(m.Scheme()); err != nil {
		t.Fatal(err)
	}
	for i := range living {
		m.lives = append(m.lives, &life{number: i, is: unclaimed})
	}
	m.countWrites()
	m.introduce()
	return m
}

// complete waits until all lives are over, and judges them.
func (m *moments) complete() {
	m.t.Helper()
	eventually(m.t, "all lives are over", func() error {
		if m.live(); !m.allOver() {
			return fmt.Errorf("%s", m.positions())
		}
		return nil
	})
	for _, l := range m.lives {
		if on, want := m.Machine(l.number).Resets()["On"], 1+2*lives; on != want {
			m.t.Errorf("machine %d was switched on %d times, want %d: for its discovery, and for each claim and its cleanup", l.number, on, want)
		}
	}
}

// killOnce starts a manager and kills it after some writes, or when nothing is written any more.
func (m *moments) killOnce() {
	m.t.Helper()
	p := launch(m.t, fmt.Sprint(m.killed), m.args...)
	m.awaitMoment()
	p.Kill()
	m.killed++
	m.t.Logf("kill %d: %s", m.killed, m.positions())
	m.endLease()
}

// awaitMoment lets machines live until some things were written, or nothing is written any more.
func (m *moments) awaitMoment() {
	m.t.Helper()
	until := m.writes.Load() + 1 + int64(m.random.IntN(mostWrites))
	silence := time.NewTimer(quiet)
	defer silence.Stop()
	for silent := false; !silent && m.writes.Load() < until && !m.allOver(); {
		m.live()
		select {
		case <-m.wrote:
			silence.Reset(quiet)
		case <-silence.C:
			silent = true
		}
	}
}

// countWrites counts what is written of the objects in which decisions are kept.
func (m *moments) countWrites() {
	m.t.Helper()
	watcher, err := client.NewWithWatch(m.api.RESTConfig(), client.Options{Scheme: m.Scheme()})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, list := range []client.ObjectList{
		&metalv1.BMCList{}, &metalv1.ServerList{}, &metalv1.ServerClaimList{}, &metalv1.ServerBootConfigurationList{}, &bootv1.IPXEBootConfigList{}, &corev1.ConfigMapList{},
	} {
		w, err := watcher.Watch(m.t.Context(), list)
		if err != nil {
			m.t.Fatal(err)
		}
		m.t.Cleanup(w.Stop)
		go func(events <-chan watch.Event) {
			for range events {
				m.writes.Add(1)
				select {
				case m.wrote <- struct{}{}:
				default: // it is known already
				}
			}
		}(w.ResultChan())
	}
}

func (m *moments) allOver() bool {
	for _, l := range m.lives {
		if l.is != over {
			return false
		}
	}
	return true
}

// positions is where every machine is, for people.
func (m *moments) positions() (text string) {
	for _, l := range m.lives {
		server := m.server(l.number)
		if err := m.Get(m.t.Context(), client.ObjectKeyFromObject(server), server); client.IgnoreNotFound(err) != nil {
			m.t.Fatal(err)
		}
		text += fmt.Sprintf(" %d: life %d, %s: %s, %s;", l.number, l.lived+1, l.is, server.Status.State, m.Machine(l.number).PowerState())
	}
	return text
}

// live takes each life as far as it can go now.
func (m *moments) live() {
	m.t.Helper()
	for _, l := range m.lives {
		switch l.is {
		case unclaimed:
			if m.isFree(l) {
				m.claimServer(l.number, metalv1.PowerOn)
				l.is = bootsClaim
			}
		case bootsClaim:
			m.begin(l)
		case runsClaim:
			m.end(l)
		case givenBack:
			if m.isFree(l) {
				m.judge(l)
			}
		}
	}
}

// isFree reports whether a claim could have the machine.
func (m *moments) isFree(l *life) bool {
	m.t.Helper()
	server := m.server(l.number)
	err := m.Get(m.t.Context(), client.ObjectKeyFromObject(server), server)
	if client.IgnoreNotFound(err) != nil {
		m.t.Fatal(err)
	}
	return err == nil && server.Status.State == metalv1.ServerStateAvailable && server.Status.PowerState == metalv1.PowerStateOff &&
		server.Spec.ServerClaimRef == nil && server.Annotations[metalv1.AnnotationClaimedBy] == ""
}

// begin is when the machine runs what its claim names: it leaves something on its disks.
func (m *moments) begin(l *life) {
	m.t.Helper()
	machine := m.Machine(l.number)
	boots := machine.Record()
	if len(boots) == 0 || boots[len(boots)-1].Outcome != sim.OutcomeInstalled || machine.PowerState() != sim.PowerOn {
		return
	}
	l.claim = m.claimOf(l.number)
	if err := m.Get(m.t.Context(), client.ObjectKeyFromObject(l.claim), l.claim); err != nil {
		m.t.Fatal(err)
	}
	for _, disk := range machine.Disks() {
		if _, err := disk.WriteAt(bytes.Repeat([]byte{0xda}, 4096), 0); err != nil {
			m.t.Fatal(err)
		}
	}
	l.resets, l.outlive, l.is = machine.Resets(), m.killed+m.random.IntN(3), runsClaim
}

// end watches over a machine that runs, and deletes its claim when it has run for long enough.
func (m *moments) end(l *life) {
	m.t.Helper()
	if got := m.Machine(l.number).Resets(); !maps.Equal(got, l.resets) {
		m.t.Errorf("machine %d runs for its claim: resets %v, %v when it began", l.number, got, l.resets)
		l.resets = got
	}
	if m.killed < l.outlive && m.killed < kills {
		return
	}
	for _, object := range []client.Object{m.claimOf(l.number), &corev1.Secret{ObjectMeta: m.claimOf(l.number).ObjectMeta}} {
		if err := m.Delete(m.t.Context(), object); err != nil {
			m.t.Fatal(err)
		}
	}
	l.is = givenBack
}

// judge looks at a machine that is free again.
func (m *moments) judge(l *life) {
	m.t.Helper()
	for _, disk := range m.Machine(l.number).Disks() {
		begins := make([]byte, 512)
		if _, err := disk.ReadAt(begins, 0); err != nil || !bytes.Equal(begins, make([]byte, len(begins))) {
			m.t.Errorf("machine %d is free, and %s begins with %x (%v)", l.number, disk.Path(), begins[:4], err)
		}
	}
	var made corev1.ConfigMap
	key := client.ObjectKey{Namespace: m.namespace, Name: machinerecord.CleanupName(m.server(l.number).Name, string(l.claim.UID))}
	if err := m.Get(m.t.Context(), key, &made); err != nil {
		m.t.Errorf("machine %d is free without a record: %v", l.number, err)
	} else if outcome := machinerecord.CleanupMetaOf(&made).Outcome; outcome != machinerecord.Clean {
		m.t.Errorf("machine %d is free, and its record says %s", l.number, outcome)
	}
	l.is = unclaimed
	if l.lived++; l.lived == lives {
		l.is = over
	}
}

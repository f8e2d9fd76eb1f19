package system

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/leadership"
	"github.com/farrier-dev/farrier/internal/shard"
)

func TestDivisionOf(t *testing.T) {
	for _, c := range []struct {
		holder, annotation string
		want               division
	}{
		{"a", "6 a", division{shards: 6}},
		{"", "6 a", division{shards: 6}}, // released: nothing has to be given up until the next one leads
		{"b", "6 a", division{}},         // b does not know of the annotation
		{leadership.Pause, "6 a", division{paused: true}},
		{leadership.Pause, "6 " + leadership.Pause, division{paused: true}},
		{"a", "", division{}},
		{"", "", division{}},
		{"a", "6", division{}},
		{"a", "6  a", division{}},
		{"a", "six a", division{}},
		{"a", "0 a", division{}},
		{"a", "-1 a", division{}},
		{"a", fmt.Sprintf("%d a", shard.Max), division{shards: shard.Max}},
		{"a", fmt.Sprintf("%d a", shard.Max+1), division{}},
	} {
		since := metav1.NewMicroTime(time.Unix(1_700_000_000, 0))
		lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &c.holder, AcquireTime: &since}}
		if c.annotation != "" {
			lease.Annotations = map[string]string{metalv1.AnnotationShards: c.annotation}
		}
		c.want.since = since.Time
		if got := divisionOf(lease); got != c.want {
			t.Errorf("holder %q, annotation %q: %+v, want %+v", c.holder, c.annotation, got, c.want)
		}
	}
	if got := divisionOf(&coordinationv1.Lease{}); got != (division{}) {
		t.Errorf("an empty Lease: %+v", got)
	}
}

// TestOnlyNewerNewsCount: an answer to an earlier question says nothing any more.
func TestOnlyNewerNewsCount(t *testing.T) {
	var d divided
	if last, at := d.known(); last != (division{}) || !at.IsZero() {
		t.Errorf("at first: %+v since %s", last, at)
	}
	holder, asked := "a", time.Now()
	lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
	annotate(lease, metalv1.AnnotationShards, textOfDivision(6, "a"))
	d.learn(lease, asked)
	d.learn(&coordinationv1.Lease{}, asked.Add(-time.Second))
	if last, at := d.known(); last.shards != 6 || !at.Equal(asked) {
		t.Errorf("after an earlier answer that came later: %+v since %s", last, at)
	}
}

// TestADivisionFollowsTheLeader: managers with --shards, without it, and of versions that know nothing of it lead one after the other.
func TestADivisionFollowsTheLeader(t *testing.T) {
	store := &leaseStore{}
	link := &leaseLink{store: store, chance: rand.New(rand.NewPCG(1, 2))} //nolint:gosec // latencies of a test
	lock := func(name string, shards int) resourcelock.Interface {
		s := &System{settings: &settings{Options: Options{Shards: shards, ManagerNamespace: "ns"}}, logger: logr.Discard()}
		return s.newLock(link, name)
	}
	early := func(name string) resourcelock.Interface {
		return &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "ns", Name: leadership.Lease}, Client: link,
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		}
	}
	for i, step := range []struct {
		by     resourcelock.Interface
		holder string
		want   division
	}{
		{lock("a", 6), "a", division{shards: 6}},
		{lock("a", 6), "", division{shards: 6}},
		{lock("b", 4), "b", division{shards: 4}},
		{early("c"), "c", division{}}, // which leaves the annotation
		{early("c"), "", division{shards: 4}},
		{lock("d", 0), "d", division{}},
		{lock("d", 0), "", division{}},
		{lock("a", 6), "a", division{shards: 6}},
		{early(""), leadership.Pause, division{paused: true}},
		{early(""), "", division{shards: 6}},
	} {
		ctx := t.Context()
		record := resourcelock.LeaderElectionRecord{HolderIdentity: step.holder, LeaseDurationSeconds: 15}
		_, _, err := step.by.Get(ctx)
		if i == 0 {
			err = step.by.Create(ctx, record)
		} else if err == nil {
			err = step.by.Update(ctx, record)
		}
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		lease, err := store.get(leadership.Lease)
		if err != nil {
			t.Fatal(err)
		}
		got := divisionOf(lease)
		got.since = time.Time{}
		if got != step.want {
			t.Errorf("step %d, %q leads: %+v, want %+v", i, step.holder, got, step.want)
		}
	}
}

func TestCheckShards(t *testing.T) {
	for _, c := range []struct {
		options Options
		says    string
	}{
		{Options{}, ""},
		{Options{Shards: 1, LeaderElection: true}, ""},
		{Options{Shards: shard.Max, LeaderElection: true}, ""},
		{Options{Shards: -1, LeaderElection: true}, "-1 is not from 0 to"},
		{Options{Shards: shard.Max + 1, LeaderElection: true}, "65 is not from 0 to 64"},
		{Options{Shards: 6}, "--leader-elect"},
		{Options{Shards: 6, LeaderElection: true, ServerLifecycle: doneByOthers}, "--server-lifecycle"},
	} {
		err := (&settings{Options: c.options}).checkShards()
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%d shards: %v", c.options.Shards, err)
		case c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), "--shards: ") || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%d shards: %v, want %q of --shards", c.options.Shards, err, c.says)
		}
	}
}

// TestWhoOnlyDeliversBootsWaitsForNoShards: it has no BMCs that another could act on.
func TestWhoOnlyDeliversBootsWaitsForNoShards(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		s := &System{settings: &settings{Options: Options{LeaderElection: true, ManagerNamespace: "ns"}, foreignLifecycle: foreign}, logger: logr.Discard()}
		if err := s.newTurns(&rest.Config{Host: "http://192.0.2.1"}); err != nil {
			t.Fatal(err)
		}
		if waits := s.undivided != nil; waits == foreign {
			t.Errorf("another program looks after BMCs: %t, waits for holders of shards: %t", foreign, waits)
		}
	}
}

// TestMemberNames: a Lease has one for every manager, whatever its host is called.
func TestMemberNames(t *testing.T) {
	for identity, want := range map[string]string{"host_12-ab": "farrier-member-12-ab", "my_host_12-ab": "farrier-member-12-ab"} {
		h := &sharding{identity: identity, named: func(name string) string { return name }}
		if got := h.memberName(); got != want {
			t.Errorf("%s: %s, want %s", identity, got, want)
		}
	}
}

// TestSightings: a holder is gone when two lists that are far enough apart show the same, and its Lease still is as they show it.
func TestSightings(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	holder, renewed := "a", metav1.NewMicroTime(start)
	lease := coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l", UID: "u", ResourceVersion: "1"}}
	lease.Spec.HolderIdentity, lease.Spec.RenewTime = &holder, &renewed
	record := resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec)
	var s sightings
	see := func(asked, answered time.Duration) {
		s.see([]coordinationv1.Lease{*lease.DeepCopy()}, start.Add(asked), start.Add(answered))
	}
	is := func(when string, held, gone bool) {
		t.Helper()
		if got := s.by["l"]; got.held() != held || got.gone(record) != gone {
			t.Errorf("%s: held: %t, gone: %t", when, got.held(), got.gone(record))
		}
	}
	is("before it is seen", false, false)
	see(0, 4*time.Second)
	is("seen once", true, false)
	see(4*time.Second+leaseDuration-1, 4*time.Second+leaseDuration+time.Minute)
	is("seen for not long enough, and answered late", true, false)
	see(4*time.Second+leaseDuration, 5*time.Second+leaseDuration)
	is("seen for long enough", false, true)
	later := metav1.NewMicroTime(start.Add(time.Minute))
	record.RenewTime.Time = later.Time
	is("renewed since", false, false)
	record.RenewTime.Time = renewed.Time
	lease.ResourceVersion = "2"
	see(time.Second, time.Hour) // which was overtaken
	is("after an answer that was overtaken", false, true)
	see(time.Minute, time.Minute)
	is("changed", true, false)
	holder = ""
	record.HolderIdentity = ""
	see(time.Hour, time.Hour)
	is("released", false, false)
}

package manager

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/shard"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/loopback"
)

// shards is into how many BMCs are divided here, sharers the managers among which, and divided the BMCs.
const (
	shards  = 6
	sharers = 3
	divided = 12
)

// shardHolders are the holders of all shards, by the name of the Lease.
func (s *site) shardHolders() map[string]string {
	s.t.Helper()
	var list coordinationv1.LeaseList
	if err := s.List(s.t.Context(), &list, client.InNamespace(s.namespace), client.HasLabels{metalv1.LabelShards}); err != nil {
		s.t.Fatal(err)
	}
	holders := map[string]string{}
	for i := range list.Items {
		lease := &list.Items[i]
		if holder := lease.Spec.HolderIdentity; strings.HasPrefix(lease.Name, "farrier-shard-") && holder != nil && *holder != "" {
			holders[lease.Name] = *holder
		}
	}
	return holders
}

// shared waits until all shards are held, by so many managers that have as many each.
func (s *site) shared(managers int) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("%d managers share %d shards", managers, shards), func() error {
		held := map[string]int{}
		holders := s.shardHolders()
		for _, holder := range holders {
			held[holder]++
		}
		if len(holders) != shards || len(held) != managers || slices.Max(slices.Collect(maps.Values(held))) != shards/managers {
			return fmt.Errorf("%v", holders)
		}
		return nil
	})
}

// askedInTurns are the BMCs that two managers have asked in turns.
func (s *site) askedInTurns() (names []string) {
	for i, b := range s.BMCs() {
		if n := s.Stats(i).OldSessions; n > 0 {
			names = append(names, fmt.Sprintf("%s: %d", b.Name, n))
		}
	}
	return names
}

// TestShards: three managers have two shards each. When one is killed the others look after its BMCs, nobody touches the power of a machine, and claims go
// on. When it is back, it gets its part again. How long that takes is measured by bench/shards.
func TestShards(t *testing.T) {
	s := newSiteOf(t, divided)
	args := append(slices.Clone(s.args), "--shards", fmt.Sprint(shards))
	managers := make([]*sharer, sharers)
	for i := range managers {
		managers[i] = s.share(fmt.Sprintf("sharer %d", i), args...)
	}
	for _, m := range managers {
		m.isReady()
	}
	s.shared(sharers)
	s.discover()
	claimed := s.claim("web")

	before, logins, holders := s.resets(), s.logins(), s.shardHolders()
	managers[0].Kill()
	s.endLeases(managers[0].identity)
	s.shared(sharers - 1)
	lost := 0
	for i, info := range s.BMCs() {
		if holders[fmt.Sprintf("farrier-shard-%d-of-%d", shard.Of(info.Name, shards), shards)] != managers[0].identity {
			continue
		}
		lost++
		eventually(t, "another manager looks after "+info.Name, func() error {
			if got := s.Stats(i).Logins; got == logins[i] {
				return fmt.Errorf("%d logins, as before", got)
			}
			return nil
		})
	}
	if lost == 0 {
		t.Error("no BMC is in the shards of the manager that was killed")
	}
	for i, want := range before {
		if got := s.Machine(i).Resets(); !maps.Equal(got, want) {
			t.Errorf("machine %d: resets %v after a manager was killed, %v before", i, got, want)
		}
	}
	second := s.claim("second")
	if second == claimed {
		t.Fatalf("server %d has two claims", claimed)
	}
	managers[0] = s.share("sharer again", args...)
	managers[0].isReady()
	s.shared(sharers)
	for _, name := range []string{"web", "second"} {
		if err := s.Delete(t.Context(), &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range []int{claimed, second} {
		s.serverIs(i, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	}
	for _, m := range managers {
		m.stop()
	}
	if holders := s.shardHolders(); len(holders) > 0 {
		t.Errorf("after an orderly end shards are held: %v", holders)
	}
	if names := s.askedInTurns(); len(names) > 0 {
		t.Errorf("two managers asked the same BMC in turns: %v", names)
	}
}

// sharer is a manager, and what it is called in Leases.
type sharer struct {
	*process
	identity string
}

// members are the managers that say that they live.
func (s *site) members() map[string]bool {
	s.t.Helper()
	var list coordinationv1.LeaseList
	if err := s.List(s.t.Context(), &list, client.InNamespace(s.namespace), client.HasLabels{metalv1.LabelShards}); err != nil {
		s.t.Fatal(err)
	}
	members := map[string]bool{}
	for i := range list.Items {
		if lease := &list.Items[i]; strings.HasPrefix(lease.Name, "farrier-member-") {
			members[*lease.Spec.HolderIdentity] = true
		}
	}
	return members
}

// share starts a manager that shares BMCs with others.
func (s *site) share(name string, args ...string) *sharer {
	s.t.Helper()
	before := s.members()
	m := &sharer{process: launch(s.t, name, args...)}
	eventually(s.t, "manager "+name+" says that it lives", func() error {
		for identity := range s.members() {
			if !before[identity] {
				m.identity = identity
				return nil
			}
		}
		return errors.New("nobody new")
	})
	return m
}

// endLeases is for when their holder was killed: the others need not wait until they are over.
func (s *site) endLeases(identity string) {
	s.t.Helper()
	var list coordinationv1.LeaseList
	if err := s.List(s.t.Context(), &list, client.InNamespace(s.namespace)); err != nil {
		s.t.Fatal(err)
	}
	for i := range list.Items {
		lease := &list.Items[i]
		if holder := lease.Spec.HolderIdentity; holder != nil && *holder == identity {
			if err := s.Delete(s.t.Context(), lease); client.IgnoreNotFound(err) != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// TestSharersKilledAtAnyMoment is TestKilledAtAnyMoment with two managers that share the BMCs, of which one or the other is killed. So what one of them has
// begun the other one goes on with: the leader, or who holds the shard of a machine, at any of its steps.
func TestSharersKilledAtAnyMoment(t *testing.T) {
	m := newMoments(t)
	args := append(slices.Clone(m.args), "--shards", "2")
	sharers := []*sharer{m.share("sharer a", args...), m.share("sharer b", args...)}
	for m.killed < kills && !m.allOver() {
		m.awaitMoment()
		at := m.random.IntN(len(sharers))
		sharers[at].Kill()
		m.killed++
		t.Logf("kill %d: %s", m.killed, m.positions())
		m.endLeases(sharers[at].identity)
		sharers[at] = m.share(fmt.Sprintf("sharer %d", m.killed), args...)
	}
	m.complete()
	if names := m.askedInTurns(); len(names) > 0 {
		t.Errorf("two managers asked the same BMC in turns: %v", names)
	}
}

// TestSharersDoEverything: settings of a server, an account and subscriptions of a BMC, in each of two shards that two managers hold. When one of them is
// gone, the BMCs send the other one their events.
func TestSharersDoEverything(t *testing.T) {
	s := newSiteOf(t, divided)
	const shards = 2
	events := []string{loopback.Free(t), loopback.Free(t)}
	var sharers []*sharer
	for i, at := range events {
		sharers = append(sharers, s.share(fmt.Sprintf("sharer %d", i), append(slices.Clone(s.args), "--shards", fmt.Sprint(shards), "--bmc-events-address", at)...))
	}
	s.discover()
	for number := range shards {
		info := s.BMCs()[slices.IndexFunc(s.BMCs(), func(b sim.BMCInfo) bool { return shard.Of(b.Name, shards) == number })]
		settings := &metalv1.BIOSSettings{ObjectMeta: metav1.ObjectMeta{Name: info.Name}}
		settings.Spec.ServerRef = &metalv1.LocalObjectReference{Name: info.Name + "-system-0"}
		settings.Spec.Version = "2.4.1"
		settings.Spec.ServerMaintenancePolicy = metalv1.ServerMaintenancePolicyEnforced
		settings.Spec.SettingsFlow = []metalv1.SettingsFlowItem{{Name: "a", Priority: 1, Settings: map[string]string{"SystemProfile": "Quiet"}}}
		user := &metalv1.BMCUser{ObjectMeta: metav1.ObjectMeta{Name: info.Name}}
		user.Spec.BMCRef, user.Spec.UserName, user.Spec.RoleID = &metalv1.LocalObjectReference{Name: info.Name}, "monitor", "ReadOnly"
		s.create(settings, user)
		eventually(t, "settings of "+info.Name, func() error {
			err := s.Get(t.Context(), client.ObjectKeyFromObject(settings), settings)
			if err == nil && settings.Status.State != metalv1.BIOSSettingsStateApplied {
				err = fmt.Errorf("%+v", settings.Status)
			}
			return err
		})
		eventually(t, "account of "+info.Name, func() error {
			err := s.Get(t.Context(), client.ObjectKeyFromObject(user), user)
			if err == nil && user.Status.ID == "" {
				err = fmt.Errorf("%+v", user.Status)
			}
			return err
		})
	}
	s.heard(events[0], events[1])
	sharers[0].Kill()
	s.endLeases(sharers[0].identity)
	s.heard(events[1])
	sharers[1].stop()
	if names := s.askedInTurns(); len(names) > 0 {
		t.Errorf("two managers asked the same BMC in turns: %v", names)
	}
}

// TestTheDivisionChanges: managers that do not share BMCs, managers that do, and managers that divide them otherwise follow each other without a gap in their
// care for long, and never at the same time. Those that come while another division counts hold nothing.
func TestTheDivisionChanges(t *testing.T) {
	s := newSiteOf(t, divided)
	with := func(shards string) []string { return append(slices.Clone(s.args), "--shards", shards) }
	first := launch(t, "alone", s.args...)
	first.isReady()
	s.discover()
	claimed, before := s.claim("web"), s.resets()
	cared := func(by string, when func()) {
		t.Helper()
		logins := s.logins()
		when()
		eventually(t, by+" looks after all BMCs", func() error {
			for i, got := range s.logins() {
				if got == logins[i] {
					return fmt.Errorf("%s: %d logins, as before", s.BMCs()[i].Name, got)
				}
			}
			return nil
		})
	}
	second := s.share("two shards", with("2")...)
	second.isReady()
	if holders := s.shardHolders(); len(holders) > 0 {
		t.Errorf("shards are held while a manager has all BMCs: %v", holders)
	}
	cared("who divides them in two", first.stop)
	third := s.share("three shards", with("3")...)
	third.isReady()
	if holders := s.shardHolders(); len(holders) != 2 {
		t.Errorf("shards held by who divides BMCs in two: %v", holders)
	}
	cared("who divides them in three", second.stop)
	last := launch(t, "alone again", s.args...)
	last.isReady()
	cared("who does not divide them", func() {
		third.Kill()
		s.endLeases(third.identity)
	})
	for i, want := range before {
		if got := s.Machine(i).Resets(); !maps.Equal(got, want) {
			t.Errorf("machine %d: resets %v, %v before the division changed", i, got, want)
		}
	}
	s.serverIs(claimed, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	last.stop()
	if names := s.askedInTurns(); len(names) > 0 {
		t.Errorf("two managers asked the same BMC in turns: %v", names)
	}
}

// TestSharersAndABootServer: a boot server follows the leader. So whoever looks after a machine hears from the leader alone that the boot server has its
// boot, and switches it on then.
func TestSharersAndABootServer(t *testing.T) {
	machines := loopback.Free(t)
	s := newStreamingOf(t, divided, func(o *sim.Options) { o.BootURL = func() string { return "http://" + machines + "/ipxe/" } })
	var streams []string
	for i := range 2 {
		m, stream := s.launch(fmt.Sprintf("sharer %d", i), "--boot-servers", "boot-1.example", "--boot-url", "http://"+machines, "--shards", "2")
		m.isReady()
		streams = append(streams, stream)
	}
	s.station("boot-1.example", machines, streams...)
	s.discover()
	leader, relayed := s.holder(), 0
	for i := range 4 {
		name := fmt.Sprintf("tenant-%d", i)
		claimed := s.BMCs()[s.claim(name)]
		var config metalv1.ServerBootConfiguration
		if err := s.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, &config); err != nil {
			t.Fatal(err)
		}
		attempt := bootattempt.Of(&config)
		if attempt.Started.Sub(*attempt.Ordered) >= 10*time.Second {
			continue // on a busy machine the boot may go on without a word
		}
		elsewhere := s.shardHolders()[fmt.Sprintf("farrier-shard-%d-of-2", shard.Of(claimed.Name, 2))] != leader
		if told := config.Annotations[metalv1.AnnotationBootAcknowledged] == attempt.ID; told != elsewhere {
			t.Errorf("claim %s: acknowledged in the boot configuration: %t, looked after by another manager than the leader: %t", name, told, elsewhere)
		}
		if elsewhere {
			relayed++
		}
	}
	t.Logf("%d of 4 claims are looked after by another manager than the leader", relayed)
}

// heard waits until every BMC sends its events to one of the addresses.
func (s *site) heard(addresses ...string) {
	s.t.Helper()
	for i, info := range s.BMCs() {
		eventually(s.t, fmt.Sprintf("%s sends its events to %v", info.Name, addresses), func() error {
			for _, to := range s.Destinations(i) {
				if !slices.ContainsFunc(addresses, func(at string) bool { return strings.HasPrefix(to, "http://"+at+"/") }) {
					return fmt.Errorf("it sends to %s", to)
				}
			}
			if len(s.Destinations(i)) == 0 {
				return errors.New("it sends none")
			}
			return nil
		})
	}
}

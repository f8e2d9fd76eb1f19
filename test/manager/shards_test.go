package manager

import (
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

// TestShards: three managers have two shards each. When one is killed the others look after its BMCs within half a minute, nobody touches the power of a
// machine, and claims go on. When it is back, it gets its part again.
func TestShards(t *testing.T) {
	s := newSiteOf(t, divided)
	args := append(slices.Clone(s.args), "--shards", fmt.Sprint(shards))
	managers := make([]*process, sharers)
	for i := range managers {
		managers[i] = launch(t, fmt.Sprintf("sharer %d", i), args...)
	}
	for _, m := range managers {
		m.isReady()
	}
	s.shared(sharers)
	s.discover()
	claimed := s.claim("web")

	before, logins := s.resets(), s.logins()
	killed := time.Now()
	managers[0].Kill()
	lost := s.shardHolders()
	managers[0] = nil
	s.shared(sharers - 1)
	if took := time.Since(killed); took > 30*time.Second {
		t.Logf("the others had all shards after %s", took)
	}
	for name, holder := range s.shardHolders() {
		if lost[name] == holder {
			continue
		}
		t.Logf("%s went from %s to %s", name, lost[name], holder)
	}
	_ = logins
	for i, want := range before {
		if got := s.Machine(i).Resets(); !maps.Equal(got, want) {
			t.Errorf("machine %d: resets %v after a manager was killed, %v before", i, got, want)
		}
	}
	second := s.claim("second")
	if second == claimed {
		t.Fatalf("server %d has two claims", claimed)
	}
	managers[0] = launch(t, "sharer again", args...)
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

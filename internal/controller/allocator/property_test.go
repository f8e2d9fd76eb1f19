package allocator

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

func drawServer(t *rapid.T, name string) *metalv1.Server {
	s := available(name)
	for _, key := range []string{"size", "zone"} {
		if v := rapid.SampledFrom([]string{"", "1", "2", "3"}).Draw(t, key); v != "" {
			s.Labels[key] = v
		}
	}
	switch rapid.IntRange(0, 9).Draw(t, "standing") {
	case 0:
		s.Spec.Unclaimable = true
	case 1:
		inDiscovery(s)
	case 2:
		tainted("k", "v", metalv1.TaintEffectNoBind)(s)
	}
	return s
}

func drawClaim(t *rapid.T, name string) *metalv1.ServerClaim {
	c := asking(name, createdAt(rapid.IntRange(0, 5).Draw(t, "age")))
	for _, key := range []string{"size", "zone"} {
		switch values := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1", "2", "3"}), 1, 2, rapid.ID).Draw(t, "values"); rapid.IntRange(0, 7).Draw(t, "operator") {
		case 0, 1:
			expression(key, metav1.LabelSelectorOpIn, values...)(c)
		case 2:
			expression(key, metav1.LabelSelectorOpNotIn, values...)(c)
		case 3:
			expression(key, metav1.LabelSelectorOpExists)(c)
		case 4:
			expression(key, metav1.LabelSelectorOpDoesNotExist)(c)
		}
	}
	if rapid.IntRange(0, 5).Draw(t, "named") == 0 {
		forServer(fmt.Sprintf("s%02d", rapid.IntRange(0, 19).Draw(t, "server")))(c)
	}
	if rapid.Bool().Draw(t, "tolerant") {
		tolerating("k", "", metalv1.TolerationOpExists)(c)
	}
	return c
}

// TestTheOrderOfNewsDoesNotMatter: two managers whose caches filled in different order decide the same.
func TestTheOrderOfNewsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var servers []*metalv1.Server
		for i := range rapid.IntRange(0, 12).Draw(t, "servers") {
			servers = append(servers, drawServer(t, fmt.Sprintf("s%02d", i)))
		}
		var claims []*metalv1.ServerClaim
		for i := range rapid.IntRange(0, 12).Draw(t, "claims") {
			claims = append(claims, drawClaim(t, fmt.Sprintf("c%02d", i)))
		}
		a := matched(poolOf(servers, claims...))
		b := matched(poolOf(rapid.Permutation(servers).Draw(t, "order"), rapid.Permutation(claims).Draw(t, "claim order")...))
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatal(diff)
		}
	})
}

// world is what a pool is told of, beside what is true.
type world struct {
	pool    *Pool
	version int
	servers map[string]*metalv1.Server
	heard   map[string]*metalv1.Server
	claims  map[string]*metalv1.ServerClaim
	has     map[string]string // server by claim
	birth   int
}

func (w *world) write(s *metalv1.Server) {
	w.version++
	s.ResourceVersion = fmt.Sprint(w.version)
	w.servers[s.Name] = s
}

// hear lets the news of one server come round.
func (w *world) hear(name string) {
	if s := w.servers[name]; s != nil && w.heard[name] != s {
		w.heard[name] = s
		w.pool.Observe(s)
	}
}

// take does with what was given what the controller does: a write that succeeds only on the latest version.
func (w *world) take(t *rapid.T, given []Assumption) {
	for _, g := range given {
		known, stored := w.heard[g.Server], w.servers[g.Server]
		if known != stored || rapid.IntRange(0, 9).Draw(t, "conflict") == 0 {
			if known == stored { // somebody was there first
				other := stored.DeepCopy()
				other.Annotations = map[string]string{"note": fmt.Sprint(w.version)}
				w.write(other)
			}
			w.pool.Conflict(g.UID, known.ResourceVersion)
			continue
		}
		if stored.Spec.ServerClaimRef != nil || w.has[g.Claim.Name] != "" {
			t.Fatalf("%s is given %s, which is %v's; it has %q", g.Claim.Name, g.Server, stored.Spec.ServerClaimRef, w.has[g.Claim.Name])
		}
		if c := w.claims[g.Claim.Name]; c == nil || c.UID != g.UID || !Fits(c, stored) {
			t.Fatalf("%s does not fit %s", g.Server, g.Claim.Name)
		}
		bound := stored.DeepCopy()
		claimed(string(g.UID))(bound)
		w.write(bound)
		w.has[g.Claim.Name] = g.Server
		w.pool.Bound(g.UID, bound.ResourceVersion)
	}
}

// TestNoneTwiceAndNoneLeft: whatever happens in whatever order, no server is given twice, what is given fits, and
// when all news have come round no claim waits that a free server would fit. A failure prints its seed.
func TestNoneTwiceAndNoneLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{pool: NewPool(), servers: map[string]*metalv1.Server{}, heard: map[string]*metalv1.Server{},
			claims: map[string]*metalv1.ServerClaim{}, has: map[string]string{}}
		server := func() string { return fmt.Sprintf("s%02d", rapid.IntRange(0, 19).Draw(t, "which server")) }
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			w.step(t, server())
		}
		for range 200 { // until nothing happens any more
			for name := range w.servers {
				w.hear(name)
			}
			given, _ := w.pool.Match()
			if len(given) == 0 {
				break
			}
			w.take(t, given)
		}
		for name, c := range w.claims {
			for _, s := range w.servers {
				if w.has[name] == "" && Fits(c, s) {
					t.Fatalf("%s waits and %s would fit", name, s.Name)
				}
			}
		}
	})
}

func (w *world) step(t *rapid.T, server string) {
	switch rapid.IntRange(0, 8).Draw(t, "step") {
	case 0, 1: // a server appears or changes; whose it is does not
		s := drawServer(t, server)
		if old := w.servers[server]; old != nil {
			s.Spec.ServerClaimRef, s.Annotations = old.Spec.ServerClaimRef, old.Annotations
		}
		w.write(s)
	case 2, 3:
		w.hear(server)
	case 4, 5: // a claim appears
		w.birth++
		c := drawClaim(t, fmt.Sprintf("c%02d", w.birth))
		w.claims[c.Name] = c
		if _, err := w.pool.Pend(c); err != nil {
			t.Fatal(err)
		}
	case 6: // a claim goes, and its server comes back clean
		name := fmt.Sprintf("c%02d", rapid.IntRange(1, max(1, w.birth)).Draw(t, "which claim"))
		if c := w.claims[name]; c != nil {
			delete(w.claims, name)
			w.pool.Withdraw(types.NamespacedName{Namespace: c.Namespace, Name: name})
		}
		if s := w.servers[w.has[name]]; s != nil {
			clean := s.DeepCopy()
			clean.Spec.ServerClaimRef, clean.Annotations = nil, nil
			w.write(clean)
		}
		delete(w.has, name)
	case 7: // a server goes
		if s := w.servers[server]; s != nil && s.Spec.ServerClaimRef == nil {
			delete(w.servers, server)
			delete(w.heard, server)
			w.pool.Forget(server)
		}
	case 8:
		given, _ := w.pool.Match()
		w.take(t, given)
	}
}

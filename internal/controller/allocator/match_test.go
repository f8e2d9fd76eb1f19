package allocator

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

func TestWhatAClaimGets(t *testing.T) {
	m := labelled("size", "m")
	for name, tc := range map[string]struct {
		claim   *metalv1.ServerClaim
		servers []*metalv1.Server
		want    string
		reason  string
		says    string
	}{
		"none exists":      {asking("c"), nil, "", metalv1.ReasonNoMatchingServer, "No Server"},
		"any":              {asking("c"), []*metalv1.Server{available("b"), available("a")}, "a", "", ""},
		"by label":         {asking("c", selecting("size", "m")), []*metalv1.Server{available("a"), available("b", m)}, "b", "", ""},
		"no label matches": {asking("c", selecting("size", "l")), []*metalv1.Server{available("a", m)}, "", metalv1.ReasonNoMatchingServer, "none of 1"},
		"empty selector":   {asking("c", selecting()), []*metalv1.Server{available("a")}, "a", "", ""},
		"two labels": {asking("c", selecting("size", "m", "zone", "2")),
			[]*metalv1.Server{available("a", m), available("b", labelled("zone", "2")), available("c", m, labelled("zone", "2"))}, "c", "", ""},
		"in": {asking("c", expression("size", "In", "l", "xl")), []*metalv1.Server{available("a", m), available("b", labelled("size", "xl"))}, "b", "", ""},
		"not in": {asking("c", expression("size", "NotIn", "m")), []*metalv1.Server{available("a", m), available("b", labelled("size", "xl"))},
			"b", "", ""},
		"not in holds for what has no such label": {asking("c", expression("size", "NotIn", "m")), []*metalv1.Server{available("a", m), available("b")}, "b", "", ""},
		"exists":         {asking("c", expression("size", "Exists")), []*metalv1.Server{available("a"), available("b", m)}, "b", "", ""},
		"does not exist": {asking("c", expression("size", "DoesNotExist")), []*metalv1.Server{available("a", m), available("b")}, "b", "", ""},
		"does not exist, and all do": {asking("c", expression("size", "DoesNotExist")), []*metalv1.Server{available("a", m)}, "",
			metalv1.ReasonNoMatchingServer, "none of 1"},
		"not off yet": {asking("c"), []*metalv1.Server{available("a", notOffYet)},
			"", metalv1.ReasonAllMatchingServersBusy, "1 not off yet"},
		"not clean yet": {asking("c"), []*metalv1.Server{available("a", func(s *metalv1.Server) {
			s.Annotations = map[string]string{metalv1.AnnotationClaimedBy: "x"}
		})}, "", metalv1.ReasonAllMatchingServersBusy, "1 to be cleaned first"},
		"unclaimable": {asking("c"), []*metalv1.Server{available("a", func(s *metalv1.Server) { s.Spec.Unclaimable = true })},
			"", ReasonServerNotClaimable, "1 unclaimable"},
		"parked": {asking("c"), []*metalv1.Server{available("a", func(s *metalv1.Server) {
			s.Annotations = map[string]string{metalv1.AnnotationParked: metalv1.AnnotationTrue}
		})}, "", ReasonServerNotClaimable, "1 parked"},
		"in maintenance": {asking("c"), []*metalv1.Server{available("a", func(s *metalv1.Server) {
			s.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Name: "m"}
		})}, "", metalv1.ReasonAllMatchingServersBusy, "1 in maintenance"},
		"being deleted": {asking("c"), []*metalv1.Server{available("a", func(s *metalv1.Server) { s.DeletionTimestamp = &metav1.Time{Time: start} })},
			"", ReasonServerNotClaimable, "1 being deleted"},
		"taken":              {asking("c"), []*metalv1.Server{available("a", claimed("x"))}, "", metalv1.ReasonAllMatchingServersBusy, "1 of other claims"},
		"tainted":            {asking("c"), []*metalv1.Server{available("a", tainted("k", "v", metalv1.TaintEffectNoBind))}, "", metalv1.ReasonTaintNotTolerated, "1 with a taint"},
		"tainted by nobody":  {asking("c"), []*metalv1.Server{available("a", tainted("k", "v", ""))}, "", metalv1.ReasonTaintNotTolerated, "1 with a taint"},
		"evict does nothing": {asking("c"), []*metalv1.Server{available("a", tainted("k", "v", metalv1.TaintEffectEvict))}, "a", "", ""},
		"tolerated by value": {asking("c", tolerating("k", "v", "")), []*metalv1.Server{available("a", tainted("k", "v", ""))}, "a", "", ""},
		"other value": {asking("c", tolerating("k", "w", "")), []*metalv1.Server{available("a", tainted("k", "v", ""))},
			"", metalv1.ReasonTaintNotTolerated, ""},
		"tolerated by key": {asking("c", tolerating("k", "", metalv1.TolerationOpExists)), []*metalv1.Server{available("a", tainted("k", "v", ""))}, "a", "", ""},
		"one of two tolerated": {asking("c", tolerating("k", "", metalv1.TolerationOpExists)),
			[]*metalv1.Server{available("a", tainted("k", "v", ""), tainted("l", "", ""))}, "", metalv1.ReasonTaintNotTolerated, ""},
		"the next one":              {asking("c"), []*metalv1.Server{available("a", tainted("k", "v", "")), available("b")}, "b", "", ""},
		"by name":                   {asking("c", forServer("b")), []*metalv1.Server{available("a"), available("b")}, "b", "", ""},
		"by name, which is missing": {asking("c", forServer("b")), []*metalv1.Server{available("a")}, "", ReasonServerNotFound, `"b"`},
		"by name, which is taken": {asking("c", forServer("a")), []*metalv1.Server{available("a", claimed("x"))}, "",
			metalv1.ReasonAllMatchingServersBusy, "ns/x"},
		"by name, which is tainted": {asking("c", forServer("a")), []*metalv1.Server{available("a", tainted("k", "v", ""))}, "",
			metalv1.ReasonTaintNotTolerated, "taint k"},
		"by name, which is being looked at": {asking("c", forServer("a")),
			[]*metalv1.Server{available("a", inDiscovery)}, "",
			metalv1.ReasonAllMatchingServersBusy, "Discovery"},
		"by name and label":         {asking("c", forServer("a"), selecting("size", "m")), []*metalv1.Server{available("a", m)}, "a", "", ""},
		"name and label contradict": {asking("c", forServer("a"), selecting("size", "l")), []*metalv1.Server{available("a", m)}, "", ReasonSelectorMismatch, `"a"`},
	} {
		t.Run(name, func(t *testing.T) {
			p := poolOf(tc.servers, tc.claim)
			if got := matched(p)["c"]; got != tc.want {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
			if tc.want != "" {
				return
			}
			v := p.Explain(tc.claim)
			if v.Reason != tc.reason || !strings.Contains(v.Message, tc.says) {
				t.Errorf("said %s: %s", v.Reason, v.Message)
			}
		})
	}
}

func TestASelectorNobodyUnderstands(t *testing.T) {
	p := poolOf([]*metalv1.Server{available("a")})
	c := asking("c", expression("size", "Near", "m"))
	if _, err := p.Pend(c); err == nil || !strings.Contains(err.Error(), "spec.serverSelector") {
		t.Errorf("error %v", err)
	}
	if v := p.Explain(c); v.Reason != ReasonSelectorInvalid || !strings.Contains(v.Message, "Near") {
		t.Errorf("said %+v", v)
	}
	if got := matched(p); len(got) != 0 {
		t.Errorf("it got %v", got)
	}
}

func TestTheOldestComesFirst(t *testing.T) {
	claims := []*metalv1.ServerClaim{
		asking("young", createdAt(2)), asking("b", createdAt(1)), asking("a", createdAt(1), selecting("size", "m")), asking("named", createdAt(3), forServer("s1")),
	}
	p := poolOf([]*metalv1.Server{available("s1", labelled("size", "m")), available("s2", labelled("size", "m"))}, claims...)
	if diff := cmp.Diff(map[string]string{"a": "s2", "b": "s1"}, matched(p)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestTheLeastWantedIsGivenFirst: a claim that takes anything leaves what others can use alone.
func TestTheLeastWantedIsGivenFirst(t *testing.T) {
	p := poolOf([]*metalv1.Server{
		available("a", labelled("size", "l", "gpu", "yes")), available("b", labelled("size", "l")), available("c"),
	}, asking("any", createdAt(0)), asking("large", createdAt(1), selecting("size", "l")), asking("gpu", createdAt(2), expression("gpu", "Exists")))
	if diff := cmp.Diff(map[string]string{"any": "c", "large": "b", "gpu": "a"}, matched(p)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestNoMoreThanSixtyFourAreCompared: however many fit, and the rest is as good as any.
func TestNoMoreThanSixtyFourAreCompared(t *testing.T) {
	for _, n := range []int{candidates, candidates + 1} {
		var servers []*metalv1.Server
		for i := range n {
			servers = append(servers, available(fmt.Sprintf("s%03d", i), labelled("size", "l")))
		}
		delete(servers[n-1].Labels, "size") // wanted by nobody else
		p := poolOf(servers, asking("any", createdAt(0)), asking("large", createdAt(1), selecting("size", "l")))
		want := map[int]string{candidates: "s063", candidates + 1: "s000"}[n]
		if got := matched(p)["any"]; got != want {
			t.Errorf("of %d it gets %s, want %s", n, got, want)
		}
	}
}

// TestATaintIsWantedByThoseWhoTolerateIt: it does not count that others would match.
func TestATaintIsWantedByThoseWhoTolerateIt(t *testing.T) {
	p := poolOf([]*metalv1.Server{available("a"), available("b", tainted("k", "", ""))},
		asking("any", createdAt(1)), asking("tolerant", createdAt(0), tolerating("k", "", metalv1.TolerationOpExists)))
	if diff := cmp.Diff(map[string]string{"any": "a", "tolerant": "b"}, matched(p)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWhatIsGivenIsHeldBack(t *testing.T) {
	p := poolOf([]*metalv1.Server{available("s")}, asking("a", createdAt(0)), asking("b", createdAt(1)))
	given, unmatched := p.Match()
	if diff := cmp.Diff([]Assumption{{types.NamespacedName{Namespace: "ns", Name: "a"}, "a", "s", ""}}, given); diff != "" {
		t.Fatal(diff)
	}
	if len(unmatched) != 1 || unmatched[0].Name != "b" {
		t.Errorf("unmatched %v", unmatched)
	}
	if _, again := p.Match(); again != nil {
		t.Errorf("%v are told twice", again)
	}
	if got, ok := p.Assumed("a"); !ok || got.Server != "s" {
		t.Errorf("assumed for a: %+v", got)
	}
	p.Observe(available("s")) // an old cache
	p.Bound("a", "7")
	if p.Observe(available("s", version(6))) || len(matched(p)) != 0 {
		t.Error("news of before the taking make the server free")
	}
	if got, ok := p.Assumed("a"); !ok || got.Bound != "7" {
		t.Errorf("assumed for a until the cache shows it: %+v", got)
	}
	p.Observe(available("s", version(7), claimed("a")))
	if len(matched(p)) != 0 {
		t.Error("it is given to a second claim")
	}
	if got, ok := p.Assumed("a"); ok {
		t.Errorf("assumed for a after the cache shows it: %+v", got)
	}
	if !p.Observe(available("s", version(9))) || matched(p)["b"] != "s" {
		t.Error("given back, it is not given to who waits")
	}
}

// TestNewsMayOvertakeTheAnswer: the cache knows of the taking before the one who took it, and all that followed.
func TestNewsMayOvertakeTheAnswer(t *testing.T) {
	p := poolOf([]*metalv1.Server{available("s")}, asking("a"), asking("b"))
	p.Match()
	p.Observe(available("s", version(7), claimed("a")))
	p.Observe(available("s", version(9)))
	if !p.Bound("a", "7") || matched(p)["b"] != "s" {
		t.Error("it is held for ever")
	}
}

// TestABoundServerStaysAssumedWithoutItsClaim: the claim is gone, and its name is another's, before the cache shows the write.
func TestABoundServerStaysAssumedWithoutItsClaim(t *testing.T) {
	p := poolOf([]*metalv1.Server{available("s")}, asking("a"))
	p.Match()
	p.Bound("a", "7")
	again := asking("a", func(c *metalv1.ServerClaim) { c.UID = "second" })
	if p.Withdraw(types.NamespacedName{Namespace: "ns", Name: "a"}) {
		t.Error("the server is said to be free")
	}
	if _, err := p.Pend(again); err != nil {
		t.Fatal(err)
	}
	if p.Observe(available("s", version(6))) || len(matched(p)) != 0 {
		t.Error("the server is given before the cache shows whose it is")
	}
	p.Observe(available("s", version(7), claimed("a")))
	if got := matched(p); len(got) != 0 || len(p.claims) != 1 || len(p.byName) != 1 {
		t.Errorf("matched %v, %d claims, %d names", got, len(p.claims), len(p.byName))
	}
	if p.Observe(available("s", version(8))); matched(p)["a"] != "s" {
		t.Error("the second claim does not get it")
	}
}

func TestAConflict(t *testing.T) {
	p := poolOf([]*metalv1.Server{available("a"), available("b")}, asking("c"))
	p.Match()
	p.Conflict("c", "1")
	if got := matched(p); got["c"] != "b" {
		t.Errorf("after the loss it gets %v", got)
	}
	p.Conflict("c", "1")
	if got := matched(p); len(got) != 0 {
		t.Errorf("what was lost is given without news of it: %v", got)
	}
	if !p.Observe(available("a", version(2))) {
		t.Error("news of a free server are for somebody")
	}
	if got := matched(p); got["c"] != "a" {
		t.Errorf("with news of it: %v", got)
	}
}

func TestAWithdrawnClaimGivesBack(t *testing.T) {
	p := poolOf([]*metalv1.Server{available("s")}, asking("a", createdAt(0)), asking("b", createdAt(1)))
	p.Match()
	p.Withdraw(types.NamespacedName{Namespace: "ns", Name: "a"})
	if got := matched(p); got["b"] != "s" {
		t.Errorf("got %v", got)
	}
	p.Withdraw(types.NamespacedName{Namespace: "ns", Name: "b"})
	p.Withdraw(types.NamespacedName{Namespace: "ns", Name: "b"})
	if len(p.requests)+len(p.filed)+len(p.named)+len(p.claims)+len(p.byName) != 0 {
		t.Error("something is left of the claims")
	}
}

func TestAClaimMadeAnewIsAnother(t *testing.T) {
	p := poolOf([]*metalv1.Server{available("s")}, asking("c"))
	p.Match()
	again := asking("c", func(c *metalv1.ServerClaim) { c.UID = "second" })
	if _, err := p.Pend(again); err != nil {
		t.Fatal(err)
	}
	if _, still := p.Assumed("c"); still {
		t.Error("the old one has it still")
	}
	given, _ := p.Match()
	if len(given) != 1 || given[0].UID != "second" {
		t.Errorf("given %v", given)
	}
}

func TestServersThatGo(t *testing.T) {
	p := poolOf([]*metalv1.Server{available("a", labelled("x", "1"), tainted("k", "", metalv1.TaintEffectEvict)), available("b")}, asking("c"))
	p.Match()
	p.Forget("a")
	p.Forget("a")
	if got := matched(p); got["c"] != "b" {
		t.Errorf("its server is gone; it gets %v", got)
	}
	p.Forget("b")
	if len(p.servers)+len(p.taints)+len(p.order) != 0 || len(p.postings) != 1 {
		t.Errorf("something is left: %v %v", p.postings, p.taints)
	}
}

func TestWhatIsNews(t *testing.T) {
	p := poolOf([]*metalv1.Server{available("s", notOffYet)},
		asking("large", selecting("size", "l")), asking("named", forServer("t")))
	p.Match()
	if p.Observe(available("s", version(2))) {
		t.Error("a free server that nobody wants is news")
	}
	if !p.Observe(available("s", version(3), labelled("size", "l"))) {
		t.Error("a label that somebody waits for is no news")
	}
	if p.Observe(available("s", version(4), labelled("size", "l"))) {
		t.Error("a new version alone is news")
	}
	if !p.Observe(available("t")) {
		t.Error("a server that somebody names is no news")
	}
	if diff := cmp.Diff(map[string]string{"large": "s", "named": "t"}, matched(p)); diff != "" {
		t.Error(diff)
	}
}

func TestExplanationsCountEveryReason(t *testing.T) {
	m := labelled("size", "m", "zone", "1")
	p := poolOf([]*metalv1.Server{
		available("a", m, claimed("x")), available("b", m, claimed("y")), available("c", m, tainted("k", "", "")),
		available("d", m, func(s *metalv1.Server) { s.Spec.Unclaimable = true }), available("e", labelled("size", "l")),
	})
	want := Verdict{metalv1.ReasonTaintNotTolerated, "4 Servers match: 1 with a taint that is not tolerated, 2 of other claims, 1 unclaimable"}
	for _, c := range []*metalv1.ServerClaim{asking("simple", selecting("size", "m")), asking("double", selecting("size", "m", "zone", "1"))} {
		if diff := cmp.Diff(want, p.Explain(c)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.Name, diff)
		}
	}
}

// TestFromSeveralGoroutines is for the race detector.
func TestFromSeveralGoroutines(t *testing.T) {
	p := poolOf(nil)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 50 {
				name := fmt.Sprintf("%d-%d", i, n)
				p.Observe(available(name))
				c := asking(name)
				if _, err := p.Pend(c); err != nil {
					t.Error(err)
				}
				given, _ := p.Match()
				for _, g := range given {
					p.Bound(g.UID, "2")
				}
				p.Explain(c)
				p.Assumed(c.UID)
				p.Conflict(c.UID, "1")
				p.Withdraw(types.NamespacedName{Namespace: c.Namespace, Name: c.Name})
				p.Forget(name)
			}
		})
	}
	all.Wait()
}

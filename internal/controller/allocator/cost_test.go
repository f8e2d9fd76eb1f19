package allocator

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// fleetOf is n servers in racks of twenty. One in ten is large; one in twenty is free.
func fleetOf(n int, busy bool) []*metalv1.Server {
	servers := make([]*metalv1.Server, n)
	for i := range servers {
		s := available(fmt.Sprintf("server-%05d", i), labelled("rack", fmt.Sprint(i/20), "size", []string{"m", "l"}[i%10/9]))
		if busy && i%20 != 0 {
			claimed("x")(s)
		}
		servers[i] = s
	}
	return servers
}

type cost struct {
	allocations float64
	visited     int
}

// costOf is what one claim costs from its arrival to its Server, or to the explanation why not.
func costOf(t *testing.T, servers int, c *metalv1.ServerClaim) cost {
	p := poolOf(fleetOf(servers, true))
	name := types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
	var looked int
	allocations := testing.AllocsPerRun(20, func() {
		before := p.visited
		if _, err := p.Pend(c); err != nil {
			t.Fatal(err)
		}
		if given, _ := p.Match(); len(given) == 0 {
			p.Explain(c)
		}
		p.Withdraw(name)
		looked = p.visited - before
	})
	return cost{allocations, looked}
}

// TestCostOfAClaim: at ten times as many servers, at most half as much again.
func TestCostOfAClaim(t *testing.T) {
	for name, c := range map[string]*metalv1.ServerClaim{
		"without selector":   asking("c"),
		"by one label":       asking("c", selecting("rack", "7")),
		"by a common label":  asking("c", selecting("size", "m")),
		"by two labels":      asking("c", selecting("rack", "7", "size", "m")),
		"by set":             asking("c", expression("rack", "In", "3", "4", "5"), expression("size", "NotIn", "l")),
		"by existence":       asking("c", expression("size", "Exists"), expression("retired", "DoesNotExist")),
		"by name":            asking("c", forServer("server-00020")),
		"of what is missing": asking("c", selecting("size", "xxl")),
		"tolerating":         asking("c", tolerating("k", "", metalv1.TolerationOpExists)),
		"all of it is busy":  asking("c", selecting("rack", "7"), expression("size", "In", "l")),
	} {
		t.Run(name, func(t *testing.T) {
			small, large := costOf(t, 1_000, c), costOf(t, 10_000, c)
			t.Logf("1,000 servers: %+v; 10,000: %+v", small, large)
			if large.allocations > 1.5*small.allocations || float64(large.visited) > 1.5*float64(small.visited) {
				t.Errorf("1,000 servers: %+v; 10,000: %+v", small, large)
			}
		})
	}
}

// TestCostOfNewsThatChangeNothing: most of what is heard of servers does not concern claims.
func TestCostOfNewsThatChangeNothing(t *testing.T) {
	p := poolOf(fleetOf(1_000, false), asking("c", selecting("size", "xxl")))
	p.Match()
	s := available("server-00020", labelled("rack", "1", "size", "m"))
	before := p.visited
	if n := testing.AllocsPerRun(100, func() { p.Observe(s) }); n > 2 {
		t.Errorf("%v allocations", n)
	}
	if p.visited != before {
		t.Errorf("%d looked at", p.visited-before)
	}
}

// TestAThousandDifferentSelectors: what claims want is found by label too.
func TestAThousandDifferentSelectors(t *testing.T) {
	p := poolOf(fleetOf(10_000, false))
	for i := range 1_000 {
		if _, err := p.Pend(asking(fmt.Sprintf("c%04d", i), selecting("rack", fmt.Sprint(i%500), "size", []string{"m", "l"}[i%2]))); err != nil {
			t.Fatal(err)
		}
	}
	given, unmatched := p.Match()
	if len(given) != 1_000 || len(unmatched) != 0 {
		t.Errorf("%d given, %d not", len(given), len(unmatched))
	}
	if most := 1_000 * candidates * 4; p.visited > most {
		t.Errorf("%d looked at, at most %d", p.visited, most)
	}
}

func BenchmarkClaim(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		for name, c := range map[string]*metalv1.ServerClaim{"any": asking("c"), "label": asking("c", selecting("rack", "7"))} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				p := poolOf(fleetOf(n, false))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Pend(c); err != nil {
						b.Fatal(err)
					}
					p.Match()
					p.Withdraw(types.NamespacedName{Namespace: c.Namespace, Name: c.Name})
				}
			})
		}
	}
}

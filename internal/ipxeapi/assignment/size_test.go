package assignment

import (
	"fmt"
	"net/url"
	"testing"
)

// fleetOf is an index as a large site has one: most machines by UUID, some by MAC address,
// groups by attributes, a default.
func fleetOf(n int) *Index {
	x := NewIndex()
	for i := range n {
		uuid := fmt.Sprintf("%08x-0000-4000-8000-000000000000", i+1)
		switch {
		case i == 0:
			x.Put(made("default", i, 0))
		case i%100 == 0:
			x.Put(made(fmt.Sprint("group-", i), i, 0, fmt.Sprint("rack=", i), "buildarch=x86_64"))
		case i%10 == 0:
			x.Put(made(fmt.Sprint("mac-", i), i, 0, fmt.Sprintf("mac=02:fa:44:%02x:%02x:%02x", i>>16, i>>8&255, i&255)))
		default:
			x.Put(made(fmt.Sprint("node-", i), i, 0, "uuid="+uuid, "buildarch=x86_64"))
		}
	}
	return x
}

func machine(i int) Subject {
	s, err := NewSubject(url.Values{
		"uuid": {fmt.Sprintf("%08x-0000-4000-8000-000000000000", i+1)}, "mac": {fmt.Sprintf("02:fa:44:%02x:%02x:%02x", i>>16, i>>8&255, i&255)},
		"buildarch": {"x86_64"}, "manufacturer": {"Dell Inc."}, "rack": {fmt.Sprint(i)}, "platform": {"efi"},
	})
	if err != nil {
		panic(err)
	}
	return s
}

// A decision looks at as many assignments, and allocates as much, whether there are five hundred or twenty thousand.
func TestADecisionCostsTheSameInALargeFleet(t *testing.T) {
	allocated := map[int]float64{}
	for _, n := range []int{500, 20_000} {
		x := fleetOf(n)
		s := machine(n / 2)
		looked := 0
		x.visit(s, func(bucket []*Assignment) Class { looked += len(bucket); return Default })
		if looked > 4 {
			t.Errorf("%d assignments: %d are looked at", n, looked)
		}
		allocated[n] = testing.AllocsPerRun(100, func() { x.Decide(s) })
	}
	if allocated[500] != allocated[20_000] {
		t.Errorf("allocations by number of assignments: %v", allocated)
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{500, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x := fleetOf(n)
			subjects := make([]Subject, 1024)
			for i := range subjects {
				subjects[i] = machine(i * n / len(subjects))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if x.Decide(subjects[i%len(subjects)]).Winner == nil {
					b.Fatal("no answer")
				}
			}
		})
	}
}

func BenchmarkConflicts(b *testing.B) {
	x := fleetOf(20_000)
	a, _ := x.Get("ns", "node-25001")
	b.ReportAllocs()
	for b.Loop() {
		x.Conflicts(a)
	}
}

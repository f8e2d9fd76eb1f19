package assignment

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestTheNarrowerSetWins: of two assignments of one namespace and priority, the one that selects less comes first, whichever was there first and
// whatever it is called. So what is no conflict is decided as its authors meant.
func TestTheNarrowerSetWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawn(t, 0), drawn(t, 1)
		b.Namespace, b.Priority, b.Selector = a.Namespace, a.Priority, maps.Clone(a.Selector)
		for key, values := range a.Selector { // b allows more, or does not ask
			switch rapid.IntRange(0, 2).Draw(t, "more of "+key) {
			case 1:
				more := append(slices.Clone(values), rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"d", "e"}), 1, 2, rapid.ID).Draw(t, key)...)
				b.Selector[key] = NewSelector(nil, map[string][]string{key: more})[key]
			case 2:
				delete(b.Selector, key)
			}
		}
		if !narrower(a.Selector, b.Selector) {
			t.Fatalf("%s is not within %s", a.Selector, b.Selector)
		}
		if narrower(b.Selector, a.Selector) {
			return
		}
		if order, by := Compare(a, b); order >= 0 {
			t.Fatalf("%s comes after %s by %s", a.Selector, b.Selector, by)
		}
	})
}

// TestPairsThatOnlyOrderDecides: where some machine is selected by two, and neither is the more special one, of a stronger class or, as far as that counts
// between them, of a higher priority, the one that yields says so.
func TestPairsThatOnlyOrderDecides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawnOfTwoKeys(t, 0), drawnOfTwoKeys(t, 1)
		if rapid.Bool().Draw(t, "tenants") {
			b.Namespace, a.Tenancy, b.Tenancy = "y", &Tenancy{Since: at(1)}, &Tenancy{Since: at(2)}
		}
		x := NewIndex()
		x.Put(a)
		x.Put(b)
		if better(b, a) {
			a, b = b, a
		}
		first, second := a.Selector, b.Selector
		told := a.Class() != b.Class() || sameProfile(a, b) || narrower(first, second) || !overlap(first, second) ||
			a.Class() != Attribute && !shareKey(first, second, a.Class())
		if !told {
			_, conflict := x.Conflicts(b)
			losses, _ := x.Overrides(b)
			told = conflict || len(losses) > 0 || a.Priority != b.Priority && a.Namespace == b.Namespace
		}
		if !told {
			t.Fatalf("%s takes machines of %s, which says nothing", first, second)
		}
		if c, conflict := x.Conflicts(a); conflict {
			t.Fatalf("%s comes first and says %s", first, c.Kind)
		}
	})
}

// TestAllIsLostExactlyWhereNoMachineIsLeft: it is said of an assignment that it decides nothing where no machine at all is answered by it. Every
// machine that the values of these assignments tell apart is tried.
func TestAllIsLostExactlyWhereNoMachineIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := NewIndex()
		var all []*Assignment
		for n := range rapid.IntRange(2, 6).Draw(t, "puts") {
			a := drawnOfTwoKeys(t, n)
			all = append(all, a)
			x.Put(a)
		}
		served := map[string]bool{}
		for _, s := range machines(all) {
			if winner := x.Decide(s).Winner; winner != nil {
				served[winner.Key()] = true
			}
		}
		for _, a := range all {
			losses, lost := x.Overrides(a)
			if lost == served[a.Key()] {
				t.Fatalf("%s %s: all lost %t, serves %t, among %v", a.Key(), a.Selector, lost, served[a.Key()], all)
			}
			if lost && len(losses) == 0 {
				t.Fatalf("%s %s: nobody is named", a.Key(), a.Selector)
			}
			for _, l := range losses {
				if !slices.Contains(x.Affected(l.Winner), a) {
					t.Fatalf("%s %s (default %t) loses to %s %s (default %t, %v), which tells it nothing when it goes", a.Key(), a.Selector, a.Default, l.Winner.Key(), l.Winner.Selector, l.Winner.Default, l)
				}
			}
		}
	})
}

// drawnOfTwoKeys makes assignments that often have the machines of others between them.
func drawnOfTwoKeys(t *rapid.T, n int) *Assignment {
	values := map[string][]string{"serial": {"a", "b"}, "region": {"a", "b"}, "buildarch": {"x86_64", "i386"}, "cpuarch": {"x86_64", "i386"}}
	selector := map[string][]string{}
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"serial", "region", "buildarch", "cpuarch"}), 0, 3, rapid.ID).Draw(t, "keys") {
		selector[key] = rapid.SliceOfNDistinct(rapid.SampledFrom(values[key]), 1, 2, rapid.ID).Draw(t, key)
	}
	_, architectures := selector["buildarch"]
	isDefault := architectures && len(selector) == 1 && rapid.Bool().Draw(t, "default")
	return &Assignment{
		Default: isDefault, Namespace: "x", Name: string(rune('a' + n)), Selector: NewSelector(nil, selector), Created: at(rapid.IntRange(0, 2).Draw(t, "age")),
		Priority: rapid.Int32Range(0, 2).Draw(t, "priority"), Profile: string(rune('a' + n)),
	}
}

// machines are all that the values of some assignments tell apart; each may lack any label.
func machines(all []*Assignment) []Subject {
	values := map[string][]string{}
	for _, a := range all {
		for key, some := range a.Selector {
			values[key] = append(values[key], some...)
		}
	}
	subjects := []Subject{{}}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		var next []Subject
		for _, s := range subjects {
			next = append(next, s)
			slices.Sort(values[key])
			for _, value := range slices.Compact(values[key]) {
				next = append(next, Subject{append(slices.Clone(s.labels), label{key, value})})
			}
		}
		subjects = next
	}
	return subjects
}

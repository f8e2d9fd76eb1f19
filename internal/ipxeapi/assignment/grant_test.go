package assignment

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func selecting(pairs ...string) Selector {
	several := map[string][]string{}
	for i := 0; i < len(pairs); i += 2 {
		several[pairs[i]] = append(several[pairs[i]], pairs[i+1])
	}
	return NewSelector(nil, several)
}

func TestParseMachineSetIsStrict(t *testing.T) {
	for _, text := range []string{
		"", "*", "uuid:47C6DA67-7477-4970-aa03-84e48ff4f6ad", "mac:aa:bb:cc:*", "mac:AA-BB-CC-DD-EE-FF", "serial:ACME-*, asset:7", "ip:192.0.2.0/24 ip:2001:db8::1",
		"hostname:node1.example", "label:region=us\nlabel:arch=amd64",
	} {
		if _, err := ParseMachineSet(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{
		"all", "uuid:", "uuid:x", "uuid:47c6da67-*", "uuid:00000000-0000-0000-0000-000000000000", "mac:*", "mac:aa:b*", "mac:aa:bb:cc:dd:ee:ff:*", "mac:aa", "serial:*", "serial:a*b*",
		"serial:none", "ip:192.0.2.0/33", "ip:x", "label:region", "label:uuid=x", "label:=x", "label:region=", "label:region=*", "hostname:*.example", "name:x",
		"uuid:47c6da67-7477-4970-aa03-84e48ff4f6ad, oops", strings.Repeat("serial:a,", MaxGrants+1), "serial:" + strings.Repeat("a", 300),
	} {
		if g, err := ParseMachineSet(text); err == nil || len(g.entries) > 0 {
			t.Errorf("%.60q grants %+v, error %v", text, g, err)
		}
	}
}

func TestWhatAGrantCovers(t *testing.T) {
	const one, two = "47c6da67-7477-4970-aa03-84e48ff4f6ad", "3f5f3c39-584e-4c7c-b6ff-137e1aaa7175"
	for name, c := range map[string]struct {
		grant    string
		selector Selector
		breadth  Breadth
		missing  string // empty: covered
	}{
		"a UUID":                            {"uuid:" + one, selecting("uuid", strings.ToUpper(one)), Exactly, ""},
		"another UUID":                      {"uuid:" + one, selecting("uuid", two), 0, "uuid:" + two},
		"one of two":                        {"uuid:" + one, selecting("uuid", one, "uuid", two), 0, "uuid:" + two},
		"narrowed by something else":        {"uuid:" + one, selecting("uuid", one, "region", "us"), Exactly, ""},
		"narrowed by a machine not granted": {"uuid:" + one, selecting("uuid", one, "mac", "02:00:00:00:00:01"), Exactly, ""},
		"all of an architecture":            {"uuid:" + one, selecting("buildarch", "x86_64"), 0, "buildarch:x86_64"},
		"the default":                       {"uuid:" + one, selecting(), 0, "* would grant all"},
		"the default, of all":               {"*", selecting(), Everything, ""},
		"anything, of all":                  {"*", selecting("uuid", two), Everything, ""},
		"all and by name":                   {"* uuid:" + one, selecting("uuid", one), Exactly, ""},
		"a range":                           {"mac:aa:bb:cc:*", selecting("mac", "AABB.CCDD.EEFF"), Range, ""},
		"out of a range":                    {"mac:aa:bb:cc:*", selecting("mac", "aa:bb:cd:00:00:01"), 0, "mac:aa:bb:cd:00:00:01"},
		"in and out of a range":             {"mac:aa:bb:cc:*", selecting("mac", "aa:bb:cc:00:00:01", "mac", "aa:bb:cd:00:00:01"), 0, "mac:aa:bb:cd"},
		"a network":                         {"ip:192.0.2.0/24", selecting("ip", "192.0.2.7"), Range, ""},
		"out of a network":                  {"ip:192.0.2.0/24", selecting("ip", "192.0.3.7"), 0, "ip:192.0.3.7"},
		"a label":                           {"label:region=us", selecting("region", "us", "uuid", two), ByLabel, ""},
		"another label":                     {"label:region=us", selecting("region", "eu"), 0, "region:eu"},
		"nothing granted":                   {"", selecting("uuid", one), 0, "uuid:" + one},
		"no value":                          {"uuid:" + one, NewSelector(nil, map[string][]string{"uuid": {"to be filled by O.E.M."}}), 0, "nothing that is granted"},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := ParseMachineSet(c.grant)
			if err != nil {
				t.Fatal(err)
			}
			place, missing, ok := Grant{Machines: g, Since: time.Unix(1, 0)}.Tenancy(c.selector)
			if ok != (c.missing == "") || !strings.Contains(missing, c.missing) {
				t.Fatalf("covered %t, missing %q", ok, missing)
			}
			if ok && place.Breadth != c.breadth {
				t.Errorf("breadth %d, want %d", place.Breadth, c.breadth)
			}
		})
	}
}

func TestAMachineIsGrantedByAllThatNamesIt(t *testing.T) {
	g, err := ParseMachineSet("uuid:47c6da67-7477-4970-aa03-84e48ff4f6ad ip:192.0.2.0/24")
	if err != nil {
		t.Fatal(err)
	}
	s := Grant{Machines: g}
	own := [2]string{KeyUUID, "47c6da67-7477-4970-aa03-84e48ff4f6ad"}
	if place, _, ok := s.Machine([][2]string{own, {KeyIP, "192.0.2.1"}}); !ok || place.Breadth != Range {
		t.Errorf("%+v, %t", place, ok)
	}
	if _, missing, ok := s.Machine([][2]string{own, {KeyIP, "192.0.3.1"}}); ok || !strings.Contains(missing, "192.0.3.1") {
		t.Errorf("an address that is not granted: %t, %q", ok, missing)
	}
	if _, _, ok := (Grant{}).Machine(nil); ok {
		t.Error("nothing is granted, and counts")
	}
}

func TestNobodyBuysAPlaceByANumber(t *testing.T) {
	early, late := &Tenancy{Since: time.Unix(1, 0)}, &Tenancy{Since: time.Unix(2, 0)}
	wide := &Tenancy{Since: time.Unix(0, 0), Breadth: Everything}
	mine := selecting("uuid", "47c6da67-7477-4970-aa03-84e48ff4f6ad")
	more := selecting("uuid", "47c6da67-7477-4970-aa03-84e48ff4f6ad", "region", "us")
	const most = 1<<31 - 1
	for name, c := range map[string]struct {
		first, second *Assignment
		by            Rule
	}{
		"the operator":        {&Assignment{Namespace: "z", Selector: mine}, &Assignment{Namespace: "a", Selector: more, Priority: most, Tenancy: early}, ByOperator},
		"the narrower grant":  {&Assignment{Namespace: "z", Selector: mine, Tenancy: late}, &Assignment{Namespace: "a", Selector: more, Priority: most, Tenancy: wide}, ByGrant},
		"the older namespace": {&Assignment{Namespace: "z", Selector: mine, Tenancy: early}, &Assignment{Namespace: "a", Selector: more, Priority: most, Tenancy: late}, ByNamespace},
		"of as old ones":      {&Assignment{Namespace: "a", Selector: mine, Tenancy: early}, &Assignment{Namespace: "z", Selector: more, Priority: most, Tenancy: early}, ByName},
		"within a namespace":  {&Assignment{Namespace: "a", Selector: mine, Priority: 1, Tenancy: early}, &Assignment{Namespace: "a", Selector: more, Tenancy: early}, ByPriority},
	} {
		if order, by := Compare(c.first, c.second); order >= 0 || by != c.by {
			t.Errorf("%s: %d by %q, want %q", name, order, by, c.by)
		}
		if order, _ := Compare(c.second, c.first); order <= 0 {
			t.Errorf("%s: the other way round %d", name, order)
		}
	}
}

// TestOverrides: what an assignment is told that it loses it decides for no machine, what it is not told it decides for one, and
// whoever takes it is told of the other.
func TestOverrides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys, values := []string{"uuid", "serial", "region", "zone"}, []string{"u1", "u2"}
		var all []*Assignment
		x := NewIndex()
		for i := range rapid.IntRange(1, 6).Draw(t, "assignments") {
			several := map[string][]string{}
			for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 3, rapid.ID).Draw(t, "keys") {
				several[key] = rapid.SliceOfNDistinct(rapid.SampledFrom(values), 1, 2, rapid.ID).Draw(t, "values")
			}
			a := &Assignment{
				Namespace: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "namespace"), Name: string(rune('a' + i)), Profile: rapid.SampledFrom([]string{"p", "q"}).Draw(t, "profile"),
				Priority: int32(rapid.IntRange(0, 1).Draw(t, "priority")), Selector: NewSelector(nil, several),
			}
			if rapid.Bool().Draw(t, "tenant") {
				a.Tenancy = &Tenancy{Breadth: Breadth(rapid.IntRange(0, 3).Draw(t, "breadth"))}
			}
			x.Put(a)
			all = append(all, a)
		}
		for _, a := range all {
			losses, whole := x.Overrides(a)
			winners := map[string][]*Assignment{} // of a value: several where they have its machines between them
			for _, l := range losses {
				for _, v := range l.Values {
					winners[v] = append(winners[v], l.Winner)
				}
				if !containsAssignment(x.Affected(l.Winner), a) {
					t.Fatalf("%s loses to %s, which does not tell it", a.Key(), l.Winner.Key())
				}
			}
			keys := a.Selector.keys()
			if len(keys) == 0 {
				continue
			}
			if whole != (len(winners) == len(a.Selector[keys[0]])) {
				t.Fatalf("%s: all %t, of %v lost %v", a.Key(), whole, a.Selector, winners)
			}
			a.Selector.each(keys, func(s Subject) bool {
				v, decides := s.Get(keys[0]), x.Decide(s).Winner
				named := func(w *Assignment) bool { return decides == w || decides != a && better(decides, w) }
				if len(winners[v]) > 0 && !slices.ContainsFunc(winners[v], named) {
					t.Fatalf("%s is told that %v decide %s=%s, and of %v %s does", a.Key(), keysOf(winners[v]), keys[0], v, s, decides.Key())
				}
				if len(winners[v]) == 0 && decides.Class() == a.Class() && decides != a && !sameProfile(decides, a) && covers(decides.Selector, a.Selector, keys[0], v) {
					t.Fatalf("%s is not told that %s decides %s=%s", a.Key(), decides.Key(), keys[0], v)
				}
				return true
			})
		}
	})
}

func keysOf(list []*Assignment) (keys []string) {
	for _, e := range list {
		keys = append(keys, e.Key())
	}
	return keys
}

func containsAssignment(list []*Assignment, a *Assignment) bool {
	for _, e := range list {
		if e == a {
			return true
		}
	}
	return false
}

func FuzzParseGrant(f *testing.F) {
	for _, text := range []string{"*", "uuid:x", "mac:aa:bb:*", "ip:10.0.0.0/8, label:a=b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := ParseMachineSet(text)
		if err != nil && len(g.entries) > 0 {
			t.Errorf("%q cannot be read and grants something", text)
		}
		if _, _, ok := g.Covers(selecting()); ok && !strings.Contains(text, "*") {
			t.Errorf("%q grants everything", text)
		}
	})
}

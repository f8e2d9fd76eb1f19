package assignment

import (
	"errors"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const someUUID = "9f1c9a52-6c1e-4f8a-9d0b-2f1f6f1f0a03"

func subject(t testing.TB, query string) Subject {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSubject(values)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSubject(t *testing.T) {
	for _, tc := range []struct {
		query string
		want  map[string]string
	}{
		{"uuid=9F1C9A52-6C1E-4F8A-9D0B-2F1F6F1F0A03", map[string]string{"uuid": someUUID}},
		{"UUID=" + strings.ToUpper(someUUID) + "&uuids=" + someUUID, map[string]string{"uuid": someUUID}},
		{"mac=02-FA-44-00-00-01", map[string]string{"mac": "02:fa:44:00:00:01"}},
		{"mac=02fa44000001", map[string]string{"mac": "02:fa:44:00:00:01"}},
		{"serialNumber=S1&serial=S1", map[string]string{"serial": "S1"}},
		{"arch=aarch64", map[string]string{"buildarch": "arm64"}},
		{"buildarch=amd64", map[string]string{"buildarch": "x86_64"}},
		{"buildarch=x86", map[string]string{"buildarch": "i386"}},
		{"manufacturer=%20Dell%20Inc.%20&asset=", map[string]string{"manufacturer": "Dell Inc."}},
		{"serial=To+Be+Filled+By+O.E.M.&uuid=00000000-0000-0000-0000-000000000000&mac=00:00:00:00:00:00", map[string]string{}},
		{"hostname=Node1.Lab.", map[string]string{"hostname": "node1.lab"}},
		{"ip=::ffff:10.0.0.1", map[string]string{"ip": "10.0.0.1"}},
		{"assignment/ipxe-buildarch=x86_64&assignment/extrinsic-region=eu", map[string]string{"buildarch": "x86_64", "region": "eu"}},
	} {
		if diff := cmp.Diff(tc.want, subject(t, tc.query).Labels()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.query, diff)
		}
	}
}

func TestSubjectRefuses(t *testing.T) {
	many := url.Values{}
	for i := range MaxLabels + 1 {
		many.Set(strings.Repeat("k", i+1), "v")
	}
	for _, tc := range []struct {
		name  string
		query url.Values
		key   string
	}{
		{"two values", url.Values{"serial": {"a", "b"}}, "serial"},
		{"two spellings, two values", url.Values{"serial": {"a"}, "serialNumber": {"b"}}, "serial"},
		{"a newline", url.Values{"hostname": {"a\nsanboot"}}, "hostname"},
		{"a control character in a key", url.Values{"a\x00": {"b"}}, "a\x00"},
		{"not UTF-8", url.Values{"asset": {"\xff"}}, "asset"},
		{"a long value", url.Values{"asset": {strings.Repeat("x", MaxValue+1)}}, "asset"},
		{"a long key", url.Values{strings.Repeat("x", MaxKey+1): {"a"}}, strings.Repeat("x", 16) + "…"},
		{"many labels", many, "…"},
	} {
		_, err := NewSubject(tc.query)
		label, ok := errors.AsType[*LabelError](err)
		if !ok || label.Key != tc.key {
			t.Errorf("%s: %v, want an error about %q", tc.name, err, tc.key)
		}
	}
}

// at is a moment that tells assignments' ages apart.
func at(n int) time.Time { return time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC) }

func made(name string, n int, priority int32, pairs ...string) *Assignment {
	single := map[string]string{}
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		single[key] = value
	}
	return &Assignment{Namespace: "ns", Name: name, Created: at(n), Priority: priority, Selector: NewSelector(single, nil), Profile: name}
}

func TestOrder(t *testing.T) {
	machine := "uuid=" + someUUID + "&mac=02:fa:44:00:00:01&hostname=a&region=eu&buildarch=i386&cpuarch=x86_64&manufacturer=Dell"
	// The best first; each beats all below it.
	ranking := []*Assignment{
		made("priority among identities", 9, 5, "mac=02:fa:44:00:00:01"),
		made("two keys", 9, 0, "uuid="+someUUID, "region=eu"),
		made("older", 1, 0, "uuid="+someUUID),
		made("a-name", 2, 0, "mac=02:fa:44:00:00:01"),
		made("b-name", 2, 0, "uuid="+someUUID),
		made("network", 0, 100, "hostname=a", "region=eu", "manufacturer=Dell"),
		made("three attributes", 5, 0, "region=eu", "manufacturer=Dell", "buildarch=x86_64"),
		made("one attribute", 1, 0, "buildarch=i386"),
		made("default with priority", 5, 7),
		made("default", 1, 0),
	}
	rules := []Rule{"", ByPriority, ByKeys, ByAge, ByName, ByClass, ByClass, ByKeys, ByClass, ByPriority}
	others := []*Assignment{
		made("another machine", 0, 9, "uuid=11111111-1111-1111-1111-111111111111"),
		made("another architecture", 0, 9, "uuid="+someUUID, "buildarch=arm64"),
		made("another value", 0, 9, "region=us"),
	}
	x := NewIndex()
	for _, i := range rand.Perm(len(ranking) + len(others)) {
		x.Put(append(slices.Clone(ranking), others...)[i])
	}
	s := subject(t, machine)
	var names, want []string
	var by []Rule
	for _, c := range x.Explain(s) {
		names, by = append(names, c.Name), append(by, c.By)
	}
	for _, a := range ranking {
		want = append(want, a.Name)
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatalf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(rules, by); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	for len(want) > 0 {
		if got := x.Decide(s).Winner; got == nil || got.Name != want[0] {
			t.Fatalf("the winner is %v, want %s", got, want[0])
		}
		x.Delete("ns", want[0])
		want = want[1:]
	}
	if got := x.Decide(s).Winner; got != nil {
		t.Errorf("the winner is %s, want none", got.Name)
	}
}

func TestArchitecture(t *testing.T) {
	x := NewIndex()
	x.Put(made("arm", 0, 0, "buildarch=aarch64"))
	x.Put(made("64 bit", 0, 0, "arch=amd64"))
	for query, want := range map[string]string{
		"buildarch=i386&cpuarch=x86_64": "64 bit", "cpuarch=x86_64": "64 bit", "buildarch=x86_64": "64 bit", "buildarch=arm64": "arm",
		"buildarch=i386": "", "buildarch=riscv64": "", "region=eu": "",
	} {
		got := ""
		if a := x.Decide(subject(t, query)).Winner; a != nil {
			got = a.Name
		}
		if got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

func TestConflicts(t *testing.T) {
	several := func(name string, n int, s map[string][]string) *Assignment {
		return &Assignment{Namespace: "ns", Name: name, Created: at(n), Selector: NewSelector(nil, s), Profile: name}
	}
	same := made("same profile", 2, 0, "region=eu")
	same.Profile = "first"
	for _, tc := range []struct {
		name   string
		first  *Assignment
		second *Assignment
		want   ConflictKind
	}{
		{"equal", made("first", 1, 0, "uuid="+someUUID), made("second", 2, 0, "uuid="+strings.ToUpper(someUUID)), Duplicate},
		{"equal defaults", made("first", 1, 0), made("second", 2, 0), Duplicate},
		{"equal, another priority", made("first", 1, 0, "region=eu"), made("second", 2, 1, "region=eu"), ""},
		{"equal, the same profile", made("first", 1, 0, "region=eu"), same, ""},
		{"the older never yields", made("first", 2, 0, "region=eu"), made("second", 1, 0, "region=eu"), ""},
		{"overlap", made("first", 1, 0, "region=eu"), made("second", 2, 0, "manufacturer=Dell"), Ambiguous},
		{"overlap in one key", made("first", 1, 0, "region=eu", "manufacturer=Dell"), made("second", 2, 0, "region=eu", "platform=efi"), Ambiguous},
		{"superset", made("first", 1, 0, "region=eu", "manufacturer=Dell"), made("second", 2, 0, "region=eu"), ""},
		{"apart in one key", made("first", 1, 0, "uuid="+someUUID, "buildarch=arm64"), made("second", 2, 0, "uuid="+someUUID, "buildarch=x86_64"), ""},
		{"another class", made("first", 1, 0, "hostname=a"), made("second", 2, 0, "region=eu"), ""},
		{"identities that nobody knows to be one", made("first", 1, 0, "uuid="+someUUID), made("second", 2, 0, "mac=02:fa:44:00:00:01"), ""},
		{"one identity, different attributes", made("first", 1, 0, "uuid="+someUUID, "region=eu"), made("second", 2, 0, "uuid="+someUUID, "platform=efi"), Ambiguous},
		{"lists that overlap", several("first", 1, map[string][]string{"serial": {"a", "b"}}), several("second", 2, map[string][]string{"serial": {"b", "c"}}), Ambiguous},
		{"a list within a list", several("first", 1, map[string][]string{"serial": {"a", "b"}}), several("second", 2, map[string][]string{"serial": {"b"}}), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := NewIndex()
			x.Put(tc.first)
			x.Put(tc.second)
			got, ok := x.Conflicts(tc.second)
			if ok != (tc.want != "") || got.Kind != tc.want || ok && (len(got.Peers) != 1 || got.Peers[0] != tc.first) {
				t.Errorf("%+v, want %q", got, tc.want)
			}
			if tc.want != "" {
				if got, ok := x.Conflicts(tc.first); ok {
					t.Errorf("the one that serves says %+v", got)
				}
			}
		})
	}
}

func TestImpossible(t *testing.T) {
	s := NewSelector(map[string]string{"serial": "To be filled by O.E.M.", "region": "eu"}, nil)
	if key, ok := s.Impossible(); !ok || key != "serial" {
		t.Errorf("%q, %t", key, ok)
	}
	x := NewIndex()
	a := &Assignment{Namespace: "ns", Name: "a", Selector: s}
	x.Put(a)
	if got := x.Decide(subject(t, "region=eu&serial=To+be+filled+by+O.E.M.")).Winner; got != nil {
		t.Error("a placeholder identifies a machine")
	}
	x.Delete("ns", "a")
	if x.Len() != 0 || len(x.duplicates) != 0 {
		t.Error("something is left")
	}
}

// drawn makes assignments of few keys and values, so that they meet.
func drawn(t *rapid.T, n int) *Assignment {
	keys := []string{"uuid", "mac", "serial", "hostname", "region", "buildarch", "manufacturer"}
	values := map[string][]string{
		"uuid": {someUUID, "11111111-1111-1111-1111-111111111111"}, "mac": {"02:fa:44:00:00:01", "02:fa:44:00:00:02"},
		"buildarch": {"x86_64", "i386", "arm64"},
	}
	selector := map[string][]string{}
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 3, rapid.ID).Draw(t, "keys") {
		from := values[key]
		if from == nil {
			from = []string{"a", "b", "c"}
		}
		selector[key] = rapid.SliceOfNDistinct(rapid.SampledFrom(from), 1, 2, rapid.ID).Draw(t, key)
	}
	return &Assignment{
		Namespace: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "namespace"), Name: string(rune('a' + n)), Selector: NewSelector(nil, selector),
		Created: at(rapid.IntRange(0, 2).Draw(t, "age")), Priority: rapid.Int32Range(0, 1).Draw(t, "priority"), Profile: rapid.SampledFrom([]string{"p", "q"}).Draw(t, "profile"),
	}
}

func drawnSubject(t *rapid.T) Subject {
	query := url.Values{}
	for key, from := range map[string][]string{
		"uuid": {someUUID, ""}, "mac": {"02:fa:44:00:00:01", ""}, "serial": {"a", "b", ""}, "hostname": {"a", ""}, "region": {"a", "b", ""},
		"buildarch": {"x86_64", "i386", "arm64", ""}, "cpuarch": {"x86_64", ""}, "manufacturer": {"a", "c", ""},
	} {
		query.Set(key, rapid.SampledFrom(from).Draw(t, "machine's "+key))
	}
	s, err := NewSubject(query)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The index answers what trying every assignment would, whatever the order in which they came,
// were replaced and went; and without the winner the next one wins.
func TestIndexIsTheSameAsLookingAtAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := NewIndex()
		all := map[string]*Assignment{}
		for n := range rapid.IntRange(0, 12).Draw(t, "puts") {
			a := drawn(t, n%8)
			a.Default = rapid.IntRange(0, 3).Draw(t, "default") == 0
			all[a.Key()] = a
			x.Put(a)
			if rapid.IntRange(0, 3).Draw(t, "then") == 0 {
				x.Delete(a.Namespace, a.Name)
				delete(all, a.Key())
			}
		}
		s := drawnSubject(t)
		var want []string
		for len(all) > 0 {
			var best *Assignment
			for _, a := range all {
				if a.Selector.Matches(s) && (best == nil || better(a, best)) {
					best = a
				}
			}
			if got := x.Decide(s).Winner; got != best {
				t.Fatalf("the winner is %v, want %v", got, best)
			}
			if best == nil {
				break
			}
			want = append(want, best.Key())
			if len(want) == 1 {
				var got []string
				for _, c := range x.Explain(s) {
					got = append(got, c.Key())
				}
				defer func() {
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("explained (-want +got):\n%s", diff)
					}
				}()
			}
			x.Delete(best.Namespace, best.Name)
			delete(all, best.Key())
		}
		for key := range all {
			namespace, name, _ := strings.Cut(key, "/")
			x.Delete(namespace, name)
		}
		if len(x.shapes)+len(x.anchored)+len(x.duplicates)+len(x.byKey) != 0 {
			t.Fatal("an empty index holds something")
		}
	})
}

// Who yields to whom is what comparing all pairs says.
func TestConflictsAreTheSameAsLookingAtAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := NewIndex()
		var all []*Assignment
		for n := range rapid.IntRange(2, 6).Draw(t, "puts") {
			a := drawn(t, n)
			all = append(all, a)
			x.Put(a)
		}
		for _, a := range all {
			var want ConflictKind
			for _, peer := range all {
				if peer == a || !better(peer, a) {
					continue
				}
				if peer.Selector.String() == a.Selector.String() && peer.Priority == a.Priority && !sameProfile(peer, a) {
					want = Duplicate
					break
				}
				if ambiguous(peer, a) {
					want = Ambiguous
				}
			}
			if got, _ := x.Conflicts(a); got.Kind != want {
				t.Fatalf("%s %s: %q, want %q", a.Key(), a.Selector, got.Kind, want)
			}
		}
	})
}

func FuzzSubject(f *testing.F) {
	f.Add("uuid=" + someUUID + "&mac=02:fa:44:00:00:01&arch=aarch64")
	f.Add("a=%00&a=b&=c")
	x := NewIndex()
	x.Put(made("a", 0, 0, "uuid="+someUUID))
	x.Put(made("b", 0, 0, "buildarch=x86_64"))
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		s, err := NewSubject(values)
		if err != nil {
			return
		}
		for key, value := range s.Labels() {
			if key == "" || value == "" || makeupOf(value).refusal(value) != "" || CanonicalValue(key, value) != value {
				t.Errorf("%q is %q", key, value)
			}
		}
		x.Decide(s)
	})
}

package fault

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"
)

func newTable(t *testing.T, seed int64, bmcs int) (*Table, *testclock.FakeClock) {
	t.Helper()
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
	return NewTable(seed, bmcs, clock), clock
}

func set(t *testing.T, table *Table, s Spec) Entry {
	t.Helper()
	e, err := table.Set(s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func strikes(table *Table, i int, kind Kind, path string) bool {
	_, ok := table.Strikes(i, kind, path)
	return ok
}

func TestStrikes(t *testing.T) {
	table, clock := newTable(t, 1, 5)
	e := set(t, table, Spec{Kind: Latency, BMCs: []int{4, 2, 2}, Path: "/Systems", Value: "50ms", After: Duration(time.Minute), For: Duration(time.Hour)})
	if diff := cmp.Diff([]int{2, 4}, e.Struck); diff != "" || e.State != Pending || e.ID != "f1" {
		t.Errorf("entry %+v", e)
	}
	if strikes(table, 1, Latency, "/redfish/v1/Systems") {
		t.Error("strikes before its time")
	}
	clock.Step(time.Minute)
	s, ok := table.Strikes(1, Latency, "/redfish/v1/Systems")
	if !ok || s.Value.Duration != 50*time.Millisecond {
		t.Errorf("strike %+v, %v", s, ok)
	}
	for name, struck := range map[string]bool{
		"another path": strikes(table, 1, Latency, "/redfish/v1/Managers"),
		"another kind": strikes(table, 1, Hang, "/redfish/v1/Systems"),
		"another BMC":  strikes(table, 0, Latency, "/redfish/v1/Systems"),
	} {
		if struck {
			t.Errorf("%s is struck", name)
		}
	}
	clock.Step(time.Hour)
	if strikes(table, 1, Latency, "/redfish/v1/Systems") || table.List()[0].State != Over {
		t.Errorf("%+v strikes after its time", table.List())
	}
	if _, ok := table.Clear("f1"); !ok || len(table.List()) != 0 || table.Any(1) {
		t.Error("a cleared fault is still there")
	}
	if _, ok := table.Clear("f1"); ok {
		t.Error("it can be cleared twice")
	}
}

// TestChanceIsSeeded holds what doc.go promises: the same seed, the same strikes.
func TestChanceIsSeeded(t *testing.T) {
	run := func(seed int64) (struck []int, requests []bool) {
		table, _ := newTable(t, seed, 200)
		struck = set(t, table, Spec{Kind: Hang, Share: 0.01}).Struck
		set(t, table, Spec{Kind: ServerError, BMCs: []int{1}, Chance: 0.25})
		for range 1000 {
			requests = append(requests, strikes(table, 0, ServerError, "/"))
		}
		return struck, requests
	}
	struck, requests := run(7)
	again, same := run(7)
	if len(struck) != 2 || cmp.Diff(struck, again) != "" || cmp.Diff(requests, same) != "" {
		t.Errorf("a seed gives %v and %v", struck, again)
	}
	n := 0
	for _, hit := range requests {
		if hit {
			n++
		}
	}
	if n < 200 || n > 300 {
		t.Errorf("%d of 1000 requests are struck with a chance of 0.25", n)
	}
	if other, _ := run(8); cmp.Diff(struck, other) == "" {
		t.Error("another seed chooses the same BMCs")
	}
	table, _ := newTable(t, 1, 3)
	if e := set(t, table, Spec{Kind: Hang, Share: 0.001}); len(e.Struck) != 1 {
		t.Errorf("a share of almost nothing strikes %v", e.Struck)
	}
	if e := set(t, table, Spec{Kind: Hang, Share: 1}); len(e.Struck) != 3 {
		t.Errorf("a share of 1 strikes %v", e.Struck)
	}
}

func TestSpecsAreChecked(t *testing.T) {
	table, _ := newTable(t, 1, 5)
	for name, tc := range map[string]struct {
		spec  Spec
		field string
	}{
		"kind":          {Spec{Kind: "gremlins", BMCs: []int{1}}, "kind"},
		"nobody":        {Spec{Kind: Hang}, "bmcs"},
		"both":          {Spec{Kind: Hang, BMCs: []int{1}, Share: 0.5}, "bmcs"},
		"no such BMC":   {Spec{Kind: Hang, BMCs: []int{6}}, "bmcs"},
		"BMC 0":         {Spec{Kind: Hang, BMCs: []int{0}}, "bmcs"},
		"share":         {Spec{Kind: Hang, Share: 1.5}, "share"},
		"chance":        {Spec{Kind: Hang, Share: 1, Chance: -1}, "chance"},
		"value":         {Spec{Kind: Latency, Share: 1, Value: "soon"}, "value"},
		"negative":      {Spec{Kind: SlowPOST, Share: 1, Value: "-1s"}, "value"},
		"count":         {Spec{Kind: Unavailable, Share: 1, Value: "-1"}, "value"},
		"word":          {Spec{Kind: WrongJSON, Share: 1, Value: "xml"}, "value"},
		"no value":      {Spec{Kind: Hang, Share: 1, Value: "1s"}, "value"},
		"long":          {Spec{Kind: SessionTableFull, Share: 1, Value: strings.Repeat("a", 257)}, "value"},
		"path":          {Spec{Kind: Hang, Share: 1, Path: "("}, "path"},
		"no path":       {Spec{Kind: SlowPOST, Share: 1, Path: "/"}, "path"},
		"negative time": {Spec{Kind: Hang, Share: 1, For: -1}, "after"},
	} {
		_, err := table.Set(tc.spec)
		var field *FieldError
		if !errors.As(err, &field) || field.Field != tc.field {
			t.Errorf("%s: error %v, want one about %s", name, err, tc.field)
		}
	}
	for _, k := range Kinds() {
		if err := (Spec{Kind: k.Kind, Share: 1}).Check(); err != nil {
			t.Errorf("%s without a value: %v", k.Kind, err)
		}
	}
}

func TestParse(t *testing.T) {
	got, err := Parse([]byte(`
faults:
  - kind: hang
    bmcs: [3, 7]
  - {kind: latency, share: 0.01, path: ^/redfish, chance: 0.5, value: 50ms, after: 1m, for: 1h}
  - kind: unavailable
    bmcs: [1]
    value: 30
`))
	want := []Spec{
		{Kind: Hang, BMCs: []int{3, 7}},
		{Kind: Latency, Share: 0.01, Path: "^/redfish", Chance: 0.5, Value: "50ms", After: Duration(time.Minute), For: Duration(time.Hour)},
		{Kind: Unavailable, BMCs: []int{1}, Value: "30"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	for _, empty := range []string{"", "faults:\n", "faults: []\n", "# nothing\n"} {
		if got, err := Parse([]byte(empty)); err != nil || len(got) != 0 {
			t.Errorf("%q: %v, %v", empty, got, err)
		}
	}
}

func TestErrorsNameFileLineAndKey(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"no list":   {"faults: yes\n", "line 1: key faults: want a list"},
		"no map":    {"- kind: hang\n", "line 1: want a mapping"},
		"key":       {"faults:\n- kind: hang\n  bmc: [1]\n", `faults[0]: line 3: key "bmc" is not known`},
		"twice":     {"faults:\n- kind: hang\n  kind: hang\n", `line 3: key "kind" is there twice`},
		"top":       {"fault:\n- kind: hang\n", `line 1: key "fault" is not known`},
		"kind":      {"faults:\n- share: 1\n  kind: gremlins\n", `line 3: key "kind": "gremlins"`},
		"type":      {"faults:\n- kind: hang\n  bmcs: many\n", `line 3: key "bmcs"`},
		"duration":  {"faults:\n- kind: hang\n  share: 1\n  for: ever\n", `line 4: key "for": "ever"`},
		"value":     {"faults:\n- kind: latency\n  share: 1\n\n  value: soon\n", `line 5: key "value": "soon"`},
		"nobody":    {"faults:\n\n- kind: hang\n", `line 3: key "bmcs": want either`},
		"both told": {"faults:\n- kind: x\n  share: 1\n- kind: y\n  share: 1\n", "faults[1]: line 4"},
		"no YAML":   {"faults: [", "line 1"},
	} {
		path := filepath.Join(t.TempDir(), "faults.yaml")
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: error %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("faults:\n- kind: latency\n  bmcs: [1]\n  value: 1s\n"))
	f.Add([]byte("faults: &a [*a]"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		specs, err := Parse(text)
		for _, s := range specs {
			if err == nil && s.Check() != nil {
				panic("a spec that Parse took is not good")
			}
		}
	})
}

package machinerecord

import (
	"compress/gzip"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestRecordsOfNamesOfAnyLength(t *testing.T) {
	long := strings.Repeat("rack-", 40) + "a"
	other := strings.Repeat("rack-", 40) + "b"
	for _, name := range []string{"s", strings.Repeat("x", 63), long, other} {
		obj := New("ns", InspectionName(name), KindInspection, name, "attempt", nil)
		for key, value := range obj.Labels {
			if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
				t.Errorf("label %s=%q of a server with a name of %d characters: %v", key, value, len(name), problems)
			}
		}
		if ServerOf(obj) != name {
			t.Errorf("the record is of %q, not of %q", ServerOf(obj), name)
		}
		if want := Selector(name)[LabelServer]; obj.Labels[LabelServer] != want {
			t.Errorf("label %q, selected by %q", obj.Labels[LabelServer], want)
		}
	}
	if Selector(long)[LabelServer] == Selector(other)[LabelServer] {
		t.Error("the records of one server are deleted with those of another")
	}
}

func TestPack(t *testing.T) {
	want := Cleanup{Mode: "none", Ended: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	packed, err := Pack(want)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(strings.NewReader(string(packed)))
	if err != nil {
		t.Fatal(err)
	}
	var got Cleanup
	if err := json.NewDecoder(r).Decode(&got); err != nil || !cmp.Equal(got, want) {
		t.Errorf("read %+v, %v", got, err)
	}
	if _, err := Pack(func() {}); err == nil {
		t.Error("what JSON cannot say was packed")
	}
}

func TestNamesOfRecordsFit(t *testing.T) {
	long := strings.Repeat("rack.", 50) + "abc" // 253 characters, as many as a name may have
	seen := map[string]bool{}
	for _, name := range []string{
		InspectionName("s"), CleanupName("s", "u"), InspectionName(long), CleanupName(long, "u"), CleanupName(long, "v"), CleanupName(long[:252]+"d", "u"),
	} {
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 || seen[name] {
			t.Errorf("%s: twice %t, %v", name, seen[name], problems)
		}
		seen[name] = true
	}
}

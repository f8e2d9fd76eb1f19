package bootview

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestMain makes the properties the same run every time. Others come with
// -rapid.seed and -rapid.checks; a failure prints its seed.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.seed": "20240501", "rapid.checks": "500"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run()) // which parses the command line, over what was set here
}

// A small world, so that entries meet.
var (
	worldUUIDs   = []string{"", uuidA, uuidB, "4c4c4544-0043-3510-8052-b7c04f4e4d34"}
	worldMACs    = []string{macA, macB, "02:fa:44:00:00:0c"}
	worldIPs     = []string{"10.0.0.1", "10.0.0.2", "2001:db8::1"}
	worldSerials = []string{"", "s1", "s2"}
	worldNames   = []string{"IPXEBootConfig/ns/a", "IPXEBootConfig/ns/b", "IPXEBootConfig/ns/c",
		"HTTPBootConfig/ns/a", "HTTPBootConfig/ns/b", "HTTPBootConfig/ns/c"}
)

func drawEntry(t *rapid.T) Entry {
	name := rapid.SampledFrom(worldNames).Draw(t, "name")
	e := Entry{
		Name:   name,
		UUID:   rapid.SampledFrom(worldUUIDs).Draw(t, "uuid"),
		MACs:   rapid.SliceOfN(rapid.SampledFrom(worldMACs), 0, 2).Draw(t, "macs"),
		IPs:    rapid.SliceOfN(rapid.SampledFrom(worldIPs), 0, 2).Draw(t, "ips"),
		Serial: rapid.SampledFrom(worldSerials).Draw(t, "serial"),
		Rank:   rapid.SampledFrom([]Rank{Stale, HandWritten, Current, Current}).Draw(t, "rank"),
	}
	if id := rapid.IntRange(0, 2).Draw(t, "attempt"); id > 0 {
		e.Attempt = Attempt{ID: fmt.Sprint(id), Token: fmt.Sprint("token", id), Open: rapid.Bool().Draw(t, "open")}
	}
	version := fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "version"))
	if strings.HasPrefix(name, "IPXE") {
		e.Script = text(name + version)
	} else if e.BootsFile = true; rapid.Bool().Draw(t, "has a UKI") {
		e.FileURL = name + version
	}
	if rapid.Bool().Draw(t, "ignition") {
		e.Ignition = &Ignition{Payload: []byte(version)}
	}
	return e
}

// answers is everything that can be asked of a view.
func answers(v *View) map[string]string {
	out := make(map[string]string)
	for _, uuid := range worldUUIDs {
		out["uuid "+uuid] = describe(v.ByUUID(uuid))
	}
	for _, address := range slices.Concat(worldMACs, worldIPs) {
		out["address "+address] = describe(v.ByAddress(address))
	}
	for _, serial := range worldSerials {
		out["serial "+serial] = describe(v.Find("", "", serial))
	}
	for _, token := range []string{"token1", "token2"} {
		m, ok := v.ByToken(token)
		out["token "+token] = fmt.Sprint(ok, " ", describe(m, Found))
	}
	for _, name := range worldNames {
		out["conflicts "+name] = strings.Join(v.Conflicts(name), " ")
	}
	return out
}

// TestOrderDoesNotMatter: whatever was put and deleted before, the answers are those
// of a view that was given what is left, in any order.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := view()
		left := make(map[string]Entry)
		for range rapid.IntRange(1, 25).Draw(t, "writes") {
			if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
				name := rapid.SampledFrom(worldNames).Draw(t, "name")
				v.Delete(name)
				delete(left, name)
				continue
			}
			e := drawEntry(t)
			v.Put(e)
			left[e.Name] = e
		}
		var names []string
		for _, name := range worldNames {
			if _, ok := left[name]; ok {
				names = append(names, name)
			}
		}
		scratch := view()
		for _, name := range rapid.Permutation(names).Draw(t, "order") {
			scratch.Put(left[name])
		}
		if diff := cmp.Diff(answers(scratch), answers(v)); diff != "" {
			t.Fatalf("differs from a view built from scratch (-scratch +view):\n%s", diff)
		}
		for name := range left {
			v.Delete(name)
		}
		for kind := range v.index.kinds {
			for i := range v.index.kinds[kind] {
				for k := range v.index.kinds[kind][i].slots {
					t.Fatalf("slot %v of kind %d outlives its entries", k, kind)
				}
			}
		}
	})
}

// TestConflictsAreMutual: whoever an entry is in conflict with says the same.
func TestConflictsAreMutual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := view()
		for range rapid.IntRange(1, 12).Draw(t, "entries") {
			v.Put(drawEntry(t))
		}
		for _, name := range worldNames {
			for _, other := range v.Conflicts(name) {
				if !slices.Contains(v.Conflicts(other), name) {
					t.Fatalf("%s is in conflict with %s but not the other way round", name, other)
				}
			}
		}
	})
}

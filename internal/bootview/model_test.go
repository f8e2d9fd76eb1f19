package bootview

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// model is what a view says, in the plainest way: it keeps what was put, and goes through all of it for every question. It shares no code with
// the index, and knows nothing of the spellings of identifiers: worlds give it canonical ones.
type model map[string]Entry

// answer is what is compared of a Machine.
type answer struct {
	Status                       Status
	UUID, Site, Attempt, Payload string
	Script, Ignition, UKI        string // names of entries
	Conflict                     string
}

// best returns the entries that count among those that match: of the strongest rank, and none that are stale.
func (m model) best(match func(Entry) bool) []Entry {
	var found []Entry
	rank := Stale
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if e := m[name]; match(e) && e.Rank > Stale {
			found, rank = append(found, e), max(rank, e.Rank)
		}
	}
	return slices.DeleteFunc(found, func(e Entry) bool { return e.Rank != rank })
}

func kindOf(e Entry) string { return e.Name[:strings.IndexByte(e.Name, '/')] }

// together is the machine that entries of one rank describe.
func together(entries []Entry) answer {
	if len(entries) == 0 {
		return answer{Status: Unknown}
	}
	a := answer{Status: Found}
	var conflict []string
	for _, e := range entries {
		if a.UUID == "" {
			a.UUID = e.UUID
		}
		for _, o := range entries {
			if o.Name != e.Name && kindOf(o) == kindOf(e) && !slices.Contains(conflict, e.Name) {
				conflict = append(conflict, e.Name)
			}
		}
	}
	if len(conflict) > 0 {
		slices.Sort(conflict)
		return answer{Status: Conflict, UUID: a.UUID, Conflict: strings.Join(conflict, " ")}
	}
	// Those with a script speak first.
	slices.SortStableFunc(entries, func(x, y Entry) int {
		switch {
		case x.Script.IsZero() == y.Script.IsZero():
			return strings.Compare(x.Name, y.Name)
		case y.Script.IsZero():
			return -1
		}
		return 1
	})
	a.Attempt = fmt.Sprint(entries[0].Attempt)
	for _, e := range entries {
		if a.Site == "" {
			a.Site = e.Site
		}
		if a.Script == "" && !e.Script.IsZero() {
			a.Script = e.Name
		}
		if a.Ignition == "" && e.Ignition != nil {
			a.Ignition, a.Payload = e.Name, string(e.Ignition.Payload)
		}
		if a.UKI == "" && (e.FileURL != "" || e.BootsFile) {
			a.UKI = e.Name
		}
	}
	return a
}

func (m model) byUUID(uuid string) answer {
	if uuid == "" {
		return answer{Status: Unknown}
	}
	return together(m.best(func(e Entry) bool { return e.UUID == uuid }))
}

// byAlias is for a MAC, an IP or a serial number: two machines behind one are in conflict, and who names no UUID speaks of the
// machine that the others name.
func (m model) byAlias(carries func(Entry) bool) answer {
	found := m.best(carries)
	uuids := map[string]bool{}
	var nameless []Entry
	for _, e := range found {
		if e.UUID == "" {
			nameless = append(nameless, e)
		} else {
			uuids[e.UUID] = true
		}
	}
	switch {
	case len(uuids) == 0:
		return together(found)
	case len(uuids) > 1:
		var names []string
		for _, e := range found {
			names = append(names, e.Name)
		}
		return answer{Status: Conflict, Conflict: strings.Join(names, " ")}
	}
	uuid := slices.Collect(maps.Keys(uuids))[0]
	if len(nameless) == 0 {
		return m.byUUID(uuid)
	}
	one := func(e Entry) bool {
		return e.UUID == uuid || slices.ContainsFunc(nameless, func(n Entry) bool { return n.Name == e.Name })
	}
	return together(m.best(one))
}

func (m model) byMAC(mac string) answer {
	return m.byAlias(func(e Entry) bool { return slices.Contains(e.MACs, mac) })
}

func (m model) byIP(ip string) answer {
	return m.byAlias(func(e Entry) bool { return slices.Contains(e.IPs, ip) })
}

func (m model) bySerial(serial string) answer {
	if serial == "" {
		return answer{Status: Unknown}
	}
	return m.byAlias(func(e Entry) bool { return e.Serial == serial })
}

// byToken is whether a token opens something: some entry carries it in an open attempt, and a machine that the entry is known by is served
// in that attempt.
func (m model) byToken(token string) map[answer]bool {
	may := map[answer]bool{}
	want := func(a answer) {
		if a.Status == Found && a.Attempt != "" && strings.Contains(a.Attempt, " "+token+" true") {
			may[a] = true
		}
	}
	for _, e := range m {
		if !e.Attempt.Open || e.Attempt.Token != token {
			continue
		}
		if e.UUID != "" {
			want(m.byUUID(e.UUID))
			continue
		}
		for _, mac := range e.MACs {
			want(m.byMAC(mac))
		}
		for _, ip := range e.IPs {
			want(m.byIP(ip))
		}
		want(m.bySerial(e.Serial))
	}
	return may
}

func seen(machine *Machine, status Status) answer {
	a := answer{Status: status}
	if machine == nil {
		return a
	}
	a.UUID, a.Conflict = machine.UUID, strings.Join(machine.Conflict(), " ")
	if status != Found {
		return a
	}
	a.Site, a.Script, a.Ignition, a.UKI = machine.Site, machine.ScriptEntry(), machine.IgnitionEntry(), machine.FileEntry()
	a.Attempt = fmt.Sprint(machine.Attempt())
	if machine.Ignition() != nil {
		a.Payload = string(machine.Ignition().Payload)
	}
	return a
}

// agree asks both everything that there is to ask.
func (m model) agree(t *rapid.T, v *View) {
	t.Helper()
	same := func(what string, want, got answer) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-model +view):\n%s", what, diff)
		}
	}
	for _, uuid := range worldUUIDs {
		same("uuid "+uuid, m.byUUID(uuid), seen(v.ByUUID(strings.ToUpper(uuid))))
	}
	for _, mac := range worldMACs {
		same("mac "+mac, m.byMAC(mac), seen(v.ByAddress(strings.ReplaceAll(mac, ":", "-"))))
	}
	for _, ip := range worldIPs {
		same("ip "+ip, m.byIP(ip), seen(v.ByAddress(ip)))
	}
	for _, serial := range worldSerials {
		same("serial "+serial, m.bySerial(serial), seen(v.Find("", "", " "+strings.ToUpper(serial))))
	}
	for _, token := range []string{"token1", "token2"} {
		may := m.byToken(token)
		machine, ok := v.ByToken(token)
		if ok != (len(may) > 0) || ok && !may[seen(machine, Found)] {
			t.Fatalf("token %s opens %v %+v, want one of %v", token, ok, seen(machine, Found), may)
		}
	}
	if v.Len() != len(m) {
		t.Fatalf("%d entries, want %d", v.Len(), len(m))
	}
}

// TestViewAgreesWithModel: entries are put, changed in one identifier, and deleted, in random order; after each write both answer every
// question alike.
func TestViewAgreesWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, m := view(), model{}
		for range rapid.IntRange(1, 25).Draw(t, "writes") {
			name := rapid.SampledFrom(worldNames).Draw(t, "of")
			e, there := m[name]
			switch action := rapid.IntRange(0, 5).Draw(t, "action"); {
			case action == 0:
				v.Delete(name)
				delete(m, name)
			case action < 3 && there: // one alias moves
				drawAlias(t, &e)
				v.Put(e)
				m[name] = e
			default:
				e := drawEntry(t)
				e.Site = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "site")
				v.Put(e)
				m[e.Name] = e
			}
			m.agree(t, v)
		}
	})
}

// drawAlias changes one of what an entry is known by, or its attempt.
func drawAlias(t *rapid.T, e *Entry) {
	switch rapid.IntRange(0, 5).Draw(t, "alias") {
	case 0:
		e.UUID = rapid.SampledFrom(worldUUIDs).Draw(t, "uuid")
	case 1:
		e.MACs = rapid.SliceOfN(rapid.SampledFrom(worldMACs), 0, 3).Draw(t, "macs")
	case 2:
		e.IPs = rapid.SliceOfN(rapid.SampledFrom(worldIPs), 0, 3).Draw(t, "ips")
	case 3:
		e.Serial = rapid.SampledFrom(worldSerials).Draw(t, "serial")
	case 4:
		id := rapid.IntRange(1, 2).Draw(t, "attempt")
		e.Attempt = Attempt{ID: fmt.Sprint(id), Token: fmt.Sprint("token", id), Open: rapid.Bool().Draw(t, "open")}
	case 5:
		e.Rank = rapid.SampledFrom([]Rank{Stale, HandWritten, Current}).Draw(t, "rank")
	}
}

// TestWritersAtOnce: several write entries of their own at once, while others read. Whatever the order was in the end, the answers are those
// of the model.
func TestWritersAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, m := view(), model{}
		plans := make([][]Entry, len(worldNames)) // of each name, so that its last write is known
		for i, name := range worldNames {
			for range rapid.IntRange(0, 4).Draw(t, "writes") {
				e := drawEntry(t)
				// drawEntry chooses the name; the kind has to fit what it carries.
				if e.Name = name; strings.HasPrefix(name, "IPXE") {
					e.Script, e.FileURL = text(name), ""
				} else {
					e.Script, e.FileURL = Script{}, name
				}
				plans[i] = append(plans[i], e)
				m[name] = e
			}
		}
		var all sync.WaitGroup
		for _, plan := range plans {
			all.Go(func() {
				for _, e := range plan {
					v.Put(e)
					v.ByUUID(e.UUID)
					v.ByToken(e.Attempt.Token)
				}
			})
		}
		all.Wait()
		m.agree(t, v)
	})
}

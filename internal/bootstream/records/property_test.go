package records

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// A small world, so that objects meet.
var (
	worldUUIDs   = []string{"", "4c4c4544-0043-3510-8052-b7c04f4e4d31", "4C4C4544-0043-3510-8052-B7C04F4E4D32", "no uuid"}
	worldMACs    = []string{"02:fa:44:00:00:0a", "02-FA-44-00-00-0B", "02:fa:44:00:00:0c"}
	worldIPs     = []string{"10.0.0.1", "10.0.0.2", "2001:db8::1", "nowhere"}
	worldSerials = []string{"", "s1", "s2"}
	worldNames   = []string{"IPXEBootConfig/ns/a", "IPXEBootConfig/ns/b", "HTTPBootConfig/ns/a", "HTTPBootConfig/ns/b"}
	worldSites   = []string{"", "hall-2"}
	worldTokens  = []string{"token1", "token2"}
	profileNames = []string{"p1", "p2"}
	idKey        = []byte("the key that a boot server does not have")
)

func drawAttempt(t *rapid.T) bootview.Attempt {
	id := rapid.IntRange(0, 2).Draw(t, "attempt")
	if id == 0 {
		return bootview.Attempt{}
	}
	return bootview.Attempt{
		ID: fmt.Sprint(id), Token: worldTokens[id-1], Open: rapid.Bool().Draw(t, "open"), Clean: rapid.SampledFrom([]string{"", "quick"}).Draw(t, "clean"),
	}
}

func drawTerms(t *rapid.T, a bootview.Attempt) bootview.Terms {
	terms := bootview.Terms{Repeats: rapid.Bool().Draw(t, "repeats"), Inspected: rapid.Bool().Draw(t, "inspected")}
	if a.ID != "" {
		terms.Server, terms.BMCToken = "server-"+a.ID, "bmc"+a.Token
	} else if rapid.Bool().Draw(t, "bind first") {
		terms.BindFirst = "uid/1"
	}
	if rapid.Bool().Draw(t, "seen") {
		terms.Seen = now.Add(time.Duration(rapid.IntRange(1, 3).Draw(t, "at")) * time.Nanosecond)
	}
	if rapid.Bool().Draw(t, "bound") {
		terms.Bound = bootview.Caller{Addr: netip.MustParseAddr("fe80::1%eth0"), MAC: "02:fa:44:00:00:0a"}
	}
	return terms
}

func drawScript(t *rapid.T, a bootview.Attempt) bootview.Script {
	switch rapid.IntRange(0, 3).Draw(t, "script") {
	case 0:
		return bootview.Script{}
	case 1:
		return bootview.CustomScript([]byte("#!ipxe\n\xff\x00\x01\r" + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "custom")))
	case 2:
		return bootview.ExitScript()
	}
	base := "http://10.0.0.1:8082"
	s, err := bootview.DefaultScript(bootview.DefaultScriptParams{
		BootURL: base, KernelURL: base + "/image?kernel", InitrdURL: "http://elsewhere/initrd", KernelArgs: rapid.SampledFrom([]string{"", "quiet"}).Draw(t, "arguments"), Attempt: a,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func drawIgnition(t *rapid.T) *bootview.Ignition {
	switch rapid.IntRange(0, 3).Draw(t, "ignition") {
	case 0:
		return nil
	case 1:
		return &bootview.Ignition{Err: fmt.Errorf("%w: Secret", bootview.ErrIgnitionMissing)}
	case 2:
		return &bootview.Ignition{Err: errors.New("line 1: \xff")}
	}
	return &bootview.Ignition{
		Payload:     []byte(rapid.SampledFrom([]string{"", "{}", "\xff\x00"}).Draw(t, "payload")),
		ContentType: rapid.SampledFrom([]string{"", "application/json"}).Draw(t, "type"),
	}
}

func drawEntry(t *rapid.T) bootview.Entry {
	name := rapid.SampledFrom(worldNames).Draw(t, "name")
	a := drawAttempt(t)
	e := bootview.Entry{
		Name: name, UUID: rapid.SampledFrom(worldUUIDs).Draw(t, "uuid"), Serial: rapid.SampledFrom(worldSerials).Draw(t, "serial"),
		MACs: rapid.SliceOfN(rapid.SampledFrom(worldMACs), 0, 2).Draw(t, "macs"), IPs: rapid.SliceOfN(rapid.SampledFrom(worldIPs), 0, 2).Draw(t, "ips"),
		Rank: rapid.SampledFrom([]bootview.Rank{bootview.Stale, bootview.HandWritten, bootview.Current, bootview.Current}).Draw(t, "rank"),
		Site: rapid.SampledFrom(worldSites).Draw(t, "site"), Attempt: a, Terms: drawTerms(t, a), Ignition: drawIgnition(t),
		Version: rapid.Uint64().Draw(t, "version"),
	}
	if strings.HasPrefix(name, "IPXE") {
		e.Script = drawScript(t, a)
	} else if e.BootsFile = true; rapid.Bool().Draw(t, "has a UKI") {
		e.FileURL = "http://10.0.0.1:8082/" + name
	}
	return e
}

func drawProfile(t *rapid.T) *profile.Profile {
	source := profile.Source{
		Namespace: "ns", Name: rapid.SampledFrom(profileNames).Draw(t, "name"), UID: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "uid"),
		Configs: map[string]profile.Content{
			"ignition": {Bytes: []byte(rapid.SampledFrom([]string{`{"a":1}`, "\xff", ""}).Draw(t, "ignition")), Err: rapid.SampledFrom([]string{"", "", "gone \xff"}).Draw(t, "problem")},
			"kernel":   {Bytes: []byte("vmlinuz"), Inserted: rapid.Bool().Draw(t, "inserted"), Type: "text/x"},
		},
		Script:  "#!ipxe\nkernel {{ kernel }} {{ .ignition }}{{ if eq .Subject.region \"a\" }} a{{ end }} {{ .Subject.serial }}\n",
		Version: rapid.Uint64Range(0, 3).Draw(t, "version"),
	}
	source.UID += source.Name // no two objects have one
	p, err := profile.Compile(source, idKey)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func drawAssignment(t *rapid.T) *assignment.Assignment {
	a := &assignment.Assignment{
		Namespace: "ns", Name: rapid.SampledFrom([]string{"a1", "a2", "a3"}).Draw(t, "name"),
		Profile: rapid.SampledFrom(profileNames).Draw(t, "profile"), Broken: rapid.SampledFrom([]string{"", "", "why"}).Draw(t, "broken"),
		Priority: rapid.Int32Range(-1, 1).Draw(t, "priority"), Default: rapid.Bool().Draw(t, "default"),
		Created: now.Add(time.Duration(rapid.IntRange(0, 1).Draw(t, "created")) * time.Second), Version: rapid.Uint64().Draw(t, "version"),
	}
	if rapid.Bool().Draw(t, "admitted") {
		a.Admitted = now
	}
	if rapid.Bool().Draw(t, "tenant's") {
		a.Tenancy = &assignment.Tenancy{Breadth: assignment.Breadth(rapid.IntRange(0, 3).Draw(t, "breadth")), Since: now}
	}
	a.Selector = assignment.NewSelector(nil, map[string][]string{
		rapid.SampledFrom([]string{"region", "serialNumber", "assignment/ipxe-region"}).Draw(t, "label"): rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "s1"}), 0, 2).Draw(t, "values"),
	})
	if rapid.Bool().Draw(t, "selects all") {
		a.Selector = assignment.Selector{}
	}
	return a
}

func drawInstance(t *rapid.T) bootview.Instance {
	i := bootview.Instance{
		Name: rapid.SampledFrom([]string{"server-1", "server-2"}).Draw(t, "name"), IPs: rapid.SliceOfN(rapid.SampledFrom(worldIPs), 0, 2).Draw(t, "ips"),
		Fields: map[string]string{"server-name": rapid.SampledFrom([]string{"a", "\xff"}).Draw(t, "field")}, Site: rapid.SampledFrom(worldSites).Draw(t, "site"),
	}
	switch rapid.IntRange(0, 2).Draw(t, "user data") {
	case 0:
		i.UserData = map[string][]byte{}
	case 1:
		i.UserData = map[string][]byte{"user-data": []byte("\xff")}
	}
	return i
}

// change changes something at the manager.
func change(t *rapid.T, m end, s *Source, closed map[string]bool) {
	switch rapid.IntRange(0, 11).Draw(t, "change") {
	case 0, 1, 2, 3:
		e := drawEntry(t)
		closed[e.Name] = !e.Attempt.IsOpen()
		m.machines.Put(e)
	case 4:
		m.machines.Delete(rapid.SampledFrom(worldNames).Draw(t, "name"))
	case 5:
		m.profiles.PutProfile(drawProfile(t))
	case 6:
		name := rapid.SampledFrom(profileNames).Draw(t, "profile")
		if rapid.Bool().Draw(t, "breaks") {
			m.profiles.BreakProfile("ns", name)
		} else {
			m.profiles.DeleteProfile("ns", name)
		}
	case 7:
		m.profiles.Put(drawAssignment(t))
	case 8:
		m.profiles.Delete("ns", rapid.SampledFrom([]string{"a1", "a2", "a3"}).Draw(t, "assignment"))
	case 9:
		if name := "server-1"; rapid.IntRange(0, 3).Draw(t, "deletes") == 0 {
			m.instances.Delete(name)
		} else {
			m.instances.Put(drawInstance(t))
		}
	case 10:
		if owner := "owner/" + rapid.SampledFrom([]string{"1", "2"}).Draw(t, "owner"); rapid.Bool().Draw(t, "pins") {
			pin := pinned()
			pin.PullSecret = []byte(rapid.SampledFrom([]string{"", "{}"}).Draw(t, "secret"))
			_ = m.blobs.Pin(owner, pin)
		} else {
			m.blobs.Unpin(owner)
		}
	case 11:
		signer := rapid.SampledFrom([]*profile.Signer{nil, {Key: []byte("a key of more than 16 bytes"), TTL: time.Minute}}).Draw(t, "signer")
		m.profiles.SetSigner(signer)
		s.SetSigner(signer)
		s.SetDefaultUKI(rapid.SampledFrom([]string{"", "http://uki"}).Draw(t, "default UKI"))
	}
}

// machine says what a lookup of a machine gave. What is withheld is left out; so is what a session has learnt from earlier
// entries, unless all was seen. closed are the entries whose payload the manager has and a boot server has not.
func machine(m *bootview.Machine, status bootview.Status, all bool, closed map[string]bool) string {
	if m == nil {
		return fmt.Sprint(status)
	}
	said := fmt.Sprintf("%s %q %q %v addressed=%v %s %s %s uki=%s attempt=%s/%v/%s", status, m.UUID, m.Site, m.Conflict(), m.Addressed, m.ScriptEntry(), m.IgnitionEntry(), m.FileEntry(),
		m.FileURL(), m.Attempt().ID, m.Attempt().Open, m.Attempt().Clean)
	said += fmt.Sprintf(" script=%q secret=%v", m.Script().Render("http://base"), m.Script().HasSecret())
	if m.Attempt().IsOpen() {
		said += " token=" + m.Attempt().Token
	}
	switch i := m.Ignition(); {
	case i == nil:
	case errors.Is(i.Err, bootview.ErrIgnitionWithheld) || closed[m.IgnitionEntry()]:
		said += " withheld ignition"
	case i.Err != nil:
		said += fmt.Sprintf(" no ignition, missing=%v", errors.Is(i.Err, bootview.ErrIgnitionMissing))
	default:
		said += fmt.Sprintf(" ignition=%q %q", i.Payload, i.ContentType)
	}
	if m.Session() != nil {
		said += " session"
		if terms := m.Session().Terms(); all {
			terms.Seen = terms.Seen.UTC()
			said += fmt.Sprintf(" %+v bound=%v", terms, m.Session().Bound())
		}
	}
	return said
}

// answers is everything that can be asked.
func answers(e end, all bool, closed map[string]bool) map[string]string {
	said := map[string]string{}
	ask := func(what string, m *bootview.Machine, status bootview.Status) {
		said[what] = machine(m, status, all, closed)
	}
	for _, uuid := range worldUUIDs {
		m, status := e.machines.ByUUID(uuid)
		ask("uuid "+uuid, m, status)
	}
	for _, mac := range worldMACs {
		m, status := e.machines.Find("", mac, "s1")
		ask("mac "+mac, m, status)
	}
	for _, address := range slices.Concat(worldMACs, worldIPs) {
		m, status := e.machines.ByAddress(address)
		ask("address "+address, m, status)
	}
	for _, token := range worldTokens {
		m, ok := e.machines.ByToken(token)
		said["token "+token] = fmt.Sprint(ok, machine(m, bootview.Found, all, closed))
		m, ok = e.machines.ByBMCToken("bmc" + token)
		if all {
			said["BMC token "+token] = fmt.Sprint(ok, machine(m, bootview.Found, all, closed))
		}
	}
	for _, labels := range []string{"region=a", "region=b&serial=s1", "uuid=4c4c4544-0043-3510-8052-b7c04f4e4d31", ""} {
		subject, err := assignment.ReadQuery(labels)
		if err != nil {
			panic(err)
		}
		script, err := e.profiles.Script(subject, "http://base")
		said["script of "+labels] = fmt.Sprintf("%q %v", strings.ToValidUTF8(string(script.Body), "\uFFFD"), plain(err))
		configs(said, e, string(script.Body))
	}
	for _, ip := range []string{"10.0.0.1", "10.0.0.2", "2001:db8::1"} {
		i, status := e.instances.ByIP(netip.MustParseAddr(ip))
		said["instance "+ip] = fmt.Sprint(status)
		if i != nil {
			said["instance "+ip] += fmt.Sprintf(" %s %q %q %v", i.Name, strings.ToValidUTF8(fmt.Sprint(i.Fields), "\uFFFD"), i.UserData, i.UserData == nil)
		}
	}
	for owner, pin := range e.blobs.pins {
		said["pin "+owner] = fmt.Sprintf("%s %+v %q %d", pin.Plan.Digest, *pin.Plan.UKI, pin.PullSecret, pin.Version)
	}
	return said
}

// configs asks for every URL of a config in a script.
func configs(said map[string]string, e end, script string) {
	for _, word := range strings.Fields(script) {
		rest, ok := strings.CutPrefix(word, "http://base/config/")
		if !ok {
			continue
		}
		id, query, _ := strings.Cut(rest, "?")
		subject, err := assignment.ReadQuery(query)
		if err != nil {
			panic(err)
		}
		c, err := e.profiles.Config(id, subject)
		said["config "+word] = fmt.Sprintf("%q %q %q %s %v", c.Bytes, c.ContentType, c.ETag, c.Name, plain(err))
	}
}

// plain is an error as a record carries it.
func plain(err error) string {
	if err == nil {
		return ""
	}
	return strings.ToValidUTF8(err.Error(), "\uFFFD")
}

// TestABootServerAnswersLikeTheManager: whatever changes, and whether a boot server was told of all of it or of what is left, in any order.
func TestABootServerAnswersLikeTheManager(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		manager, source, w, server, _ := connect(t)
		urls, closed := map[string]string{}, map[string]bool{}
		for range rapid.IntRange(1, 25).Draw(t, "changes") {
			change(t, manager, source, closed)
			want := answers(manager, true, closed)
			if diff := cmp.Diff(want, answers(server, true, nil)); diff != "" {
				t.Fatalf("-manager +boot server:\n%s", diff)
			}
			for what := range want { // machines go on asking for what they were given
				if url, ok := strings.CutPrefix(what, "config "); ok {
					urls[url] = ""
				}
			}
			sameConfigs(t, urls, manager, server)
		}
		late := newEnd()
		w.late(late.views(), rapid.Permutation(w.keys()).Draw(t, "order"))
		if diff := cmp.Diff(answers(manager, false, closed), answers(late, false, nil)); diff != "" {
			t.Fatalf("-manager +a late boot server:\n%s", diff)
		}
		sameConfigs(t, urls, manager, late)
	})
}

func sameConfigs(t *rapid.T, urls map[string]string, manager, server end) {
	said, theirs := map[string]string{}, map[string]string{}
	for url := range urls {
		configs(said, manager, url)
		configs(theirs, server, url)
	}
	if diff := cmp.Diff(said, theirs); diff != "" {
		t.Fatalf("configs: -manager +boot server:\n%s", diff)
	}
}

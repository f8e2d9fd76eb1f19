package records

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// everyKind changes something of each kind, and returns the records.
func everyKind(t *testing.T) map[string]*streampb.Record {
	t.Helper()
	manager, source, w, _, _ := connect(t)
	manager.machines.Put(due(t, true))
	for _, script := range []string{"#!ipxe\n{{ .one }}", "#!ipxe\n{{ .one }} {{ .Subject.serial }}"} {
		p, err := profile.Compile(profile.Source{
			Namespace: "ns", Name: "p", UID: "1", Script: script, Configs: map[string]profile.Content{"one": {Bytes: []byte("1")}},
		}, idKey)
		if err != nil {
			t.Fatal(err)
		}
		manager.profiles.PutProfile(p)
	}
	manager.profiles.Put(&assignment.Assignment{
		Namespace: "ns", Name: "a", Profile: "p", Created: now, Tenancy: &assignment.Tenancy{Since: now},
		Selector: assignment.NewSelector(nil, map[string][]string{"region": {"a", "b"}}),
	})
	manager.instances.Put(bootview.Instance{Name: "server-1", IPs: []string{"10.0.0.1"}, Fields: map[string]string{"a": "b"}, UserData: map[string][]byte{}})
	_ = manager.blobs.Pin("one", pinned())
	source.SetSigner(&profile.Signer{Key: []byte("a key of more than 16 bytes"), TTL: time.Hour})
	found := map[string]*streampb.Record{}
	for _, key := range w.keys() {
		found[key] = w.record(t, key)
	}
	return found
}

// TestARecordThatCannotBeUsedChangesNothing: it is refused, and the last good one stays.
func TestARecordThatCannotBeUsedChangesNothing(t *testing.T) {
	const machine, image, settings = "IPXEBootConfig/ns/a", "Image/one", "Settings"
	for name, test := range map[string]struct {
		key   string
		spoil func(*streampb.Record)
		why   string
	}{
		"no body":             {machine, func(r *streampb.Record) { r.Body = nil }, "no body"},
		"no attempt":          {machine, func(r *streampb.Record) { r.GetMachine().Attempt = nil }, "attempt: required"},
		"a rank of tomorrow":  {machine, func(r *streampb.Record) { r.GetMachine().Rank = 9 }, "rank 9"},
		"another kind":        {machine, func(r *streampb.Record) { r.Key = "Profile/ns/a" }, "another kind"},
		"no name":             {machine, func(r *streampb.Record) { r.Key = "IPXEBootConfig" }, "another kind"},
		"a script's command":  {machine, func(r *streampb.Record) { r.GetMachine().Script.Own = "\nshell" }, "newline"},
		"a script's carriage": {machine, func(r *streampb.Record) { r.GetMachine().Script.Text = []byte("#!ipxe\n\r") }, "control character"},
		"no script":           {machine, func(r *streampb.Record) { r.GetMachine().Script.Text = []byte("shell") }, "begin with"},
		"two own parts":       {machine, func(r *streampb.Record) { r.GetMachine().Script.Text = []byte("#!ipxe\n\x01\x01") }, "more than one hole"},
		"no place for it":     {machine, func(r *streampb.Record) { r.GetMachine().Script.Text = []byte("#!ipxe\n") }, "no hole"},
		"an exact own part":   {machine, func(r *streampb.Record) { r.GetMachine().Script.Exact = true }, "exact"},
		"a script too long":   {machine, func(r *streampb.Record) { r.GetMachine().Script.Text = make([]byte, bootview.MaxScript+1) }, "longer than"},
		"no time":             {machine, func(r *streampb.Record) { r.GetMachine().Terms.Seen = &timestamppb.Timestamp{Nanos: -1} }, "seen: no time"},
		"bound to nobody":     {machine, func(r *streampb.Record) { r.GetMachine().Terms.Bound = &streampb.Caller{} }, "bound: no address"},
		"a problem unheard":   {machine, func(r *streampb.Record) { r.GetMachine().Ignition.Problem = 7 }, "problem 7"},
		"very many addresses": {machine, func(r *streampb.Record) { r.GetMachine().Macs = make([]string, maxIdentifiers+1) }, "addresses"},
		"no ID":               {"Profile/ns/p", func(r *streampb.Record) { r.GetProfile().Ids = nil }, "no UUID"},
		"no revision":         {"Profile/ns/p", func(r *streampb.Record) { r.GetProfile().Revision = "" }, "no revision"},
		"no profile's script": {"ProfileBefore/ns/p", func(r *streampb.Record) { r.GetProfile().Script = "{{" }, "begin with"},
		"configs too long": {"Profile/ns/p", func(r *streampb.Record) {
			r.GetProfile().Configs["one"].Bytes = make([]byte, profile.MaxConfigs+1)
		}, "longer than"},
		"no namespace":        {"Profile/ns/p", func(r *streampb.Record) { r.Key = "Profile/p" }, "no object"},
		"values not in order": {"Assignment/ns/a", func(r *streampb.Record) { r.GetAssignment().Selector["region"].Values = []string{"b", "a"} }, "not in order"},
		"a breadth unheard":   {"Assignment/ns/a", func(r *streampb.Record) { r.GetAssignment().Tenancy.Breadth = 4 }, "breadth 4"},
		"made at no time":     {"Assignment/ns/a", func(r *streampb.Record) { r.GetAssignment().Created.Seconds = 1 << 60 }, "created: no time"},
		"an instance of many": {"Instance/server-1", func(r *streampb.Record) { r.GetInstance().Ips = make([]string, maxIdentifiers+1) }, "addresses"},
		"no instance":         {"Instance/server-1", func(r *streampb.Record) { r.Key = "Instance/" }, "another kind"},
		"no digest":           {image, func(r *streampb.Record) { r.GetImage().Digest = "" }, "no digest"},
		"a path as a digest":  {image, func(r *streampb.Record) { r.GetImage().Uki.Digest = "../../etc/passwd" }, "a layer has no digest"},
		"no layers":           {image, func(r *streampb.Record) { r.GetImage().Uki = nil }, "no layers"},
		"no repository":       {image, func(r *streampb.Record) { r.GetImage().Repository = "../x" }, "plan:"},
		"a short key":         {settings, func(r *streampb.Record) { r.GetSettings().ConfigUrlKey = []byte("k") }, "too short"},
		"good for no time":    {settings, func(r *streampb.Record) { r.GetSettings().ConfigUrlTtl = durationpb.New(0) }, "no time"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newEnd()
			views := server.views()
			good := everyKind(t)
			for _, r := range good {
				if err := views.Apply(proto.Clone(r).(*streampb.Record)); err != nil {
					t.Fatal(err)
				}
			}
			views.SetSynced(true)
			before := answers(server, true, nil)
			r := good[test.key]
			test.spoil(r)
			if err := views.Apply(r); err == nil || !strings.Contains(err.Error(), test.why) {
				t.Errorf("got %v, want an error that says %q", err, test.why)
			}
			for what, want := range before {
				if got := answers(server, true, nil)[what]; got != want {
					t.Errorf("%s: %s, was %s", what, got, want)
				}
			}
		})
	}
	if err := newEnd().views().Apply(nil); err == nil {
		t.Error("no record at all is no error")
	}
}

// TestARecordOfANewerManager: a kind of body that this version does not know is none of its business, nor is a field.
func TestARecordOfANewerManager(t *testing.T) {
	const tomorrow = 1000
	body := protowire.AppendBytes(protowire.AppendTag(nil, tomorrow, protowire.BytesType), []byte("?"))
	for key, r := range everyKind(t) {
		data, err := proto.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var newer streampb.Record
		if err := proto.Unmarshal(append(data, body...), &newer); err != nil {
			t.Fatal(err)
		}
		if err := newEnd().views().Apply(&newer); err != nil {
			t.Errorf("%s with a field more: %v", key, err)
		}
	}
	newer := streampb.Record{Key: "Weather/ns/a"}
	if err := proto.Unmarshal(body, proto.Message(&newer)); err != nil {
		t.Fatal(err)
	}
	if err := newEnd().views().Apply(&newer); err != nil {
		t.Errorf("a body of tomorrow: %v", err)
	}
}

// TestWhatIsNotKeptIsTaken: a boot server without some view takes its records.
func TestWhatIsNotKeptIsTaken(t *testing.T) {
	views := NewViews(nil, nil, nil, nil)
	for key, r := range everyKind(t) {
		if err := views.Apply(r); err != nil {
			t.Error(err)
		}
		views.Delete(key)
	}
	views.SetSynced(true)
}

// FuzzApply: whatever comes, nothing panics, and what is refused is not there.
func FuzzApply(f *testing.F) {
	t := &testing.T{}
	for _, r := range everyKind(t) {
		data, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r streampb.Record
		if proto.Unmarshal(data, &r) != nil {
			return
		}
		server := newEnd()
		views := server.views()
		views.SetSynced(true)
		key := r.GetKey()
		uuid := r.GetMachine().GetUuid()
		err := views.Apply(&r)
		if err != nil && server.machines.Len()+len(server.blobs.pins)+server.profiles.Len() > 0 {
			t.Errorf("it is refused, and there: %v", err)
		}
		answers(server, true, nil)
		if m, status := server.machines.ByUUID(uuid); status == bootview.Found {
			if script := m.Script().Render("http://base"); len(script) != m.Script().Len("http://base") {
				t.Errorf("a script of %d bytes is said to have %d", len(script), m.Script().Len("http://base"))
			}
		}
		views.Delete(key)
		if server.machines.Len()+len(server.blobs.pins)+server.profiles.Len() > 0 {
			t.Errorf("%q is there after it was deleted", key)
		}
	})
}

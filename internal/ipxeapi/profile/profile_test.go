package profile

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

const (
	someUUID = "9f1c9a52-6c1e-4f8a-9d0b-2f1f6f1f0a03"
	base     = "http://boot.example.org:8082"
)

var key = []byte("a key that only this test has")

func subject(t testing.TB, query string) assignment.Subject {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	s, err := assignment.NewSubject(values)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func text(s string) Content { return Content{Bytes: []byte(s)} }

func source(script string, configs map[string]Content) Source {
	return Source{Namespace: "ns", Name: "p", UID: "uid-1", Script: script, Configs: configs}
}

func compile(t testing.TB, script string, configs map[string]Content) *Profile {
	t.Helper()
	p, err := Compile(source(script, configs), key)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func render(t testing.TB, p *Profile, query string) string {
	t.Helper()
	body, err := p.Render(subject(t, query), func(id string) string { return "URL(" + id + ")" })
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestRender(t *testing.T) {
	configs := map[string]Content{
		"config0": text("{}"), "with-dash": text("text"), "inserted": {Bytes: []byte("echo inserted"), Inserted: true},
	}
	id := ConfigID(key, "uid-1", "config0")
	for _, tc := range []struct{ name, script, query, want string }{
		{"three dialects", "#!ipxe\n{{ config0 }} {{ .config0 }} {{ .AdditionalContent.config0 }}", "", "#!ipxe\n" + strings.TrimSpace(strings.Repeat("URL("+id+") ", 3))},
		{"the same inside a decision", "#!ipxe\n{{ if .Subject.uuid }}{{ config0 }}{{ end }}", "uuid=" + someUUID, "#!ipxe\nURL(" + id + ")"},
		{"inserted", "#!ipxe\n{{ inserted }}", "", "#!ipxe\necho inserted"},
		{"labels in any spelling", "#!ipxe\n{{ .Subject.serialNumber }} {{ .Subject.arch }}", "serial=S1&buildarch=amd64", "#!ipxe\nS1 x86_64"},
		{"a label that the machine has not", "#!ipxe\n[{{ .Subject.region }}] {{ default \"eu\" .Subject.region }}", "", "#!ipxe\n[] eu"},
		{"functions", "#!ipxe\n{{ quote .Subject.manufacturer }} {{ upper .Subject.region }} {{ urlquery .Subject.manufacturer }}{{ if eq .Subject.region \"eu\" \"us\" }} yes{{ else }} no{{ end }}",
			"manufacturer=Dell+Inc.&region=eu", "#!ipxe\n\"Dell Inc.\" EU Dell+Inc. yes"},
		{"a pipeline", "#!ipxe\n{{ .Subject.region | upper | quote }}", "region=eu", "#!ipxe\n\"EU\""},
		{"logic", "#!ipxe\n{{ if and .Subject.uuid (not .Subject.mac) }}a{{ else }}b{{ end }}", "uuid=" + someUUID, "#!ipxe\na"},
		{"a label that would be commands", "#!ipxe\nset m {{ .Subject.manufacturer }}", "manufacturer=" + url.QueryEscape("a || sanboot http://evil ${x} ; 'q' \"d\" \\ `"),
			"#!ipxe\nset m a __ sanboot http://evil __x_ _ _q_ _d_ _ _"},
		{"a name with a dash", "#!ipxe\n{{ if true }}{{ .AdditionalContent.config0 }}{{ end }}", "", "#!ipxe\nURL(" + id + ")"},
		{"iPXE's own settings stay", "#!ipxe\nkernel ${base}/vmlinuz", "", "#!ipxe\nkernel ${base}/vmlinuz"},
		{"an old magic line", "# ipxe\necho", "", "#!ipxe\necho"},
		{"byte order mark and blank lines", "\ufeff\r\n\n  #!ipxe\r\necho\r\n", "", "#!ipxe\necho\n"},
		{"the magic alone", "#!ipxe", "", "#!ipxe\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, render(t, compile(t, tc.script, configs), tc.query)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, tc := range []struct{ name, script, want string }{
		{"no magic", "echo hello", "does not begin with #!ipxe"},
		{"an empty script", "", "does not begin with #!ipxe"},
		{"a magic that is none", "#!ipxeecho", "does not begin with #!ipxe"},
		{"a template first", "{{ config0 }}\n#!ipxe", "does not begin with #!ipxe"},
		{"what does not parse", "#!ipxe\n{{ .x", "line 2"},
		{"an unknown config", "#!ipxe\n{{ .config1 }}", `no config "config1"; the profile has ["config0"]`},
		{"an unknown function", "#!ipxe\n{{ config1 }}", "config1"},
		{"an unknown content", "#!ipxe\n{{ .AdditionalContent.config1 }}", `no config "config1"`},
		{"something below a label", "#!ipxe\n{{ .Subject.uuid.more }}", ".Subject.uuid.more means nothing"},
		{"all labels", "#!ipxe\n{{ .Subject }}", `no config "Subject"`},
		{"the dot", "#!ipxe\n{{ . }}", "means nothing"},
		{"a loop", "#!ipxe\n{{ range 1000000000000 }}{{ end }}", "nothing else"},
		{"a variable", "#!ipxe\n{{ $x := .Subject.uuid }}", "no variables"},
		{"a template within", "#!ipxe\n{{ define \"a\" }}x{{ end }}", "cannot define others"},
		{"formatting by a number", "#!ipxe\n{{ printf \"%999999999d\" 1 }}", `no function "printf"`},
		{"a number", "#!ipxe\n{{ eq 1 2 }}", "means nothing"},
		{"a long script", "#!ipxe\n" + strings.Repeat("x", MaxScript), "longer than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Compile(source(tc.script, map[string]Content{"config0": text("{}")}), key)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want …%s…", err, tc.want)
			}
		})
	}
}

func TestARenderedScriptHasALimit(t *testing.T) {
	p := compile(t, "#!ipxe\n{{ if .Subject.mac }}{{ big }}{{ big }}{{ end }}", map[string]Content{"big": {Bytes: []byte(strings.Repeat("x", MaxScript/2)), Inserted: true}})
	if _, err := p.Render(subject(t, "mac=02:fa:44:00:01:01"), nil); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("%v", err)
	}
}

func TestConfigIDs(t *testing.T) {
	id := ConfigID(key, "uid-1", "a")
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(id) {
		t.Errorf("%s is no UUID of version 4", id)
	}
	for _, other := range []string{ConfigID(key, "uid-1", "b"), ConfigID(key, "uid-2", "a"), ConfigID([]byte("another"), "uid-1", "a")} {
		if other == id {
			t.Error("two configs have one ID")
		}
	}
	if id != ConfigID(key, "uid-1", "a") {
		t.Error("a config has two IDs")
	}
}

// stand is a view with one machine assigned.
func stand(t *testing.T, signer *Signer) (*View, *testingclock.FakeClock) {
	t.Helper()
	clk := testingclock.NewFakeClock(time.Unix(1_700_000_000, 0))
	v := NewView(clk, signer)
	v.SetSynced(true)
	v.Put(&assignment.Assignment{
		Namespace: "ns", Name: "a", Profile: "p", Selector: assignment.NewSelector(map[string]string{"uuid": someUUID}, nil),
	})
	v.PutProfile(compile(t, "#!ipxe\nchain {{ config0 }}", map[string]Content{"config0": text(`{"ignition":{}}`)}))
	return v, clk
}

// configURL is what the machine's script says.
func configURL(t *testing.T, v *View) *url.URL {
	t.Helper()
	s, err := v.Script(subject(t, "uuid="+someUUID+"&manufacturer=A+%26+B"), base)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(strings.TrimPrefix(string(s.Body), "#!ipxe\nchain "))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func fetch(v *View, u *url.URL) (Config, error) {
	query, err := assignment.ReadQuery(u.RawQuery)
	if err != nil {
		return Config{}, err
	}
	return v.Config(strings.TrimPrefix(u.Path, "/config/"), query)
}

func TestViewAnswers(t *testing.T) {
	v, _ := stand(t, nil)
	u := configURL(t, v)
	if got := u.Scheme + "://" + u.Host; got != base || !strings.HasPrefix(u.RawQuery, "uuid="+someUUID+"&manufacturer=A%20%26%20B&revision=") {
		t.Errorf("the URL is %s", u)
	}
	got, err := fetch(v, u)
	if err != nil || string(got.Bytes) != `{"ignition":{}}` || got.ContentType[0] != "application/json" || got.Name != "config0" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := v.Script(subject(t, "uuid=11111111-1111-1111-1111-111111111111"), base); !errors.Is(err, ErrUnassigned) {
		t.Errorf("another machine: %v", err)
	}
	if _, err := v.Config("11111111-1111-4111-8111-111111111111", assignment.Subject{}); !errors.Is(err, ErrUnknown) {
		t.Errorf("another config: %v", err)
	}
	v.SetSynced(false)
	if _, err := v.Script(subject(t, "uuid="+someUUID), base); !errors.Is(err, ErrUnsynced) {
		t.Errorf("before all is known: %v", err)
	}
	if _, err := fetch(v, u); !errors.Is(err, ErrUnsynced) {
		t.Errorf("before all is known: %v", err)
	}
}

func TestWhatIsBrokenIsNotAnsweredByTheDefault(t *testing.T) {
	v, _ := stand(t, nil)
	v.Put(&assignment.Assignment{Namespace: "ns", Name: "default", Profile: "p", Selector: assignment.Selector{}})
	for what, breakIt := range map[string]func(){
		"the assignment is": func() {
			v.Put(&assignment.Assignment{Namespace: "ns", Name: "a", Broken: "no such profile", Selector: assignment.NewSelector(map[string]string{"uuid": someUUID}, nil)})
		},
		"the profile is absent": func() {
			v.Put(&assignment.Assignment{Namespace: "ns", Name: "a", Profile: "gone", Selector: assignment.NewSelector(map[string]string{"uuid": someUUID}, nil)})
		},
		"a config is": func() {
			v.Put(&assignment.Assignment{Namespace: "ns", Name: "a", Profile: "p", Selector: assignment.NewSelector(map[string]string{"uuid": someUUID}, nil)})
			v.PutProfile(compile(t, "#!ipxe\n{{ config0 }}", map[string]Content{"config0": {Err: "the webhook does not answer"}}))
		},
	} {
		breakIt()
		if s, err := v.Script(subject(t, "uuid="+someUUID), base); !errors.Is(err, ErrBroken) || s.Body != nil || s.Assignment.Name != "a" {
			t.Errorf("%s broken: %v", what, err)
		}
	}
}

func TestScriptAndConfigAreOfOneRevision(t *testing.T) {
	v, _ := stand(t, nil)
	first := configURL(t, v)
	v.PutProfile(compile(t, "#!ipxe\nchain {{ config0 }}", map[string]Content{"config0": text("second")}))
	second := configURL(t, v)
	if first.Path != second.Path || first.RawQuery == second.RawQuery {
		t.Fatalf("URLs %s and %s", first, second)
	}
	for u, want := range map[*url.URL]string{first: `{"ignition":{}}`, second: "second"} {
		if got, err := fetch(v, u); err != nil || string(got.Bytes) != want {
			t.Errorf("%s: %q, %v", u, got.Bytes, err)
		}
	}
	unpinned := *first
	unpinned.RawQuery = ""
	if got, err := fetch(v, &unpinned); err != nil || string(got.Bytes) != "second" {
		t.Errorf("without a revision: %q, %v", got.Bytes, err)
	}
	// The third forgets the first, and what it does not name is gone.
	v.PutProfile(compile(t, "#!ipxe\necho", nil))
	if _, err := fetch(v, first); !errors.Is(err, ErrUnknown) {
		t.Errorf("two revisions ago: %v", err)
	}
	if got, err := fetch(v, second); err != nil || string(got.Bytes) != "second" {
		t.Errorf("of the revision before: %q, %v", got.Bytes, err)
	}
	if _, err := fetch(v, &unpinned); !errors.Is(err, ErrUnknown) {
		t.Errorf("withdrawn: %v", err)
	}
	v.DeleteProfile("ns", "p")
	if _, err := fetch(v, second); !errors.Is(err, ErrUnknown) {
		t.Errorf("of a profile that is gone: %v", err)
	}
	if len(v.owners)+len(v.profiles)+len(v.before) != 0 {
		t.Error("something is left")
	}
}

func TestSignedURLs(t *testing.T) {
	v, clk := stand(t, &Signer{Key: []byte("another key"), TTL: time.Minute})
	u := configURL(t, v)
	if _, err := fetch(v, u); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(url.Values){
		"no signature":     func(q url.Values) { q.Del("signature") },
		"another":          func(q url.Values) { q.Set("signature", strings.Repeat("0", 64)) },
		"a later end":      func(q url.Values) { q.Set("expires", "9999999999") },
		"no end":           func(q url.Values) { q.Del("expires") },
		"another revision": func(q url.Values) { q.Set("revision", "x") },
		"another machine":  func(q url.Values) { q.Set("uuid", "11111111-1111-1111-1111-111111111111") },
		"a label more":     func(q url.Values) { q.Set("region", "eu") },
	} {
		changed := *u
		q := changed.Query()
		change(q)
		changed.RawQuery = q.Encode()
		if _, err := fetch(v, &changed); !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	clk.Step(time.Minute)
	if _, err := fetch(v, u); !errors.Is(err, ErrForbidden) {
		t.Errorf("expired: %v", err)
	}
}

func FuzzCompile(f *testing.F) {
	f.Add("#!ipxe\n{{ config0 }}{{ if .Subject.uuid }}{{ quote .Subject.mac }}{{ end }}")
	f.Add("#!ipxe\n{{ and or not }}")
	f.Add("\ufeff# ipxe")
	s := subject(f, "uuid="+someUUID+"&manufacturer=a%7C%7Cb")
	f.Fuzz(func(t *testing.T, script string) {
		p, err := Compile(source(script, map[string]Content{"config0": text("{}"), "inserted": {Bytes: []byte("x"), Inserted: true}}), key)
		if err != nil {
			return
		}
		body, err := p.Render(s, func(id string) string { return base + "/config/" + id })
		if err != nil {
			return
		}
		if rest, ok := strings.CutPrefix(string(body), magic); !ok || rest[0] != '\n' && rest[0] != ' ' && rest[0] != '\t' {
			t.Errorf("the script begins %q", fmt.Sprintf("%.20s", body))
		}
	})
}

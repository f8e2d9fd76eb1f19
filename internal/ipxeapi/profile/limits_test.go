package profile

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

// long is a text that is inserted and consists of what urlquery triples.
func long(n int) Content { return Content{Bytes: []byte(strings.Repeat("%", n)), Inserted: true} }

// Everything that a template of Go can grow by is refused when the script is written, and so is what is too long or too deep, in words that
// are short however long the script is.
func TestWhatGrowsIsRefusedWhenItIsWritten(t *testing.T) {
	configs := map[string]Content{"big": long(1 << 20), "some": long(MaxValue), "small": {Bytes: []byte("x"), Inserted: true}}
	for name, tc := range map[string]struct{ script, want string }{
		"a long text through a pipe":    {"{{ big" + strings.Repeat(" | urlquery", 20) + " }}", "at most 8"},
		"a long text":                   {"{{ big }}", "at most 65536 can be inserted"},
		"a long pipe":                   {"{{ small" + strings.Repeat(" | urlquery", MaxPipe) + " }}", "the pipe has 9 commands, at most 8 can be"},
		"a very long pipe":              {"{{ small" + strings.Repeat(" | urlquery", 100) + " }}", "the pipe has 101"},
		"a pipe of pipes":               {"{{ " + strings.Repeat("urlquery (", MaxDepth+1) + "small" + strings.Repeat(")", MaxDepth+1) + " }}", "more than 32"},
		"a width":                       {`{{ printf "%1000000d" 1 }}`, `no function "printf"`},
		"print":                         {`{{ print small small }}`, `no function "print"`},
		"js":                            {"{{ js small }}", `no function "js"`},
		"html":                          {"{{ html small }}", `no function "html"`},
		"index":                         {"{{ index small 1 }}", `no function "index"`},
		"slice":                         {"{{ slice small 1 }}", `no function "slice"`},
		"len":                           {"{{ len small }}", `no function "len"`},
		"call":                          {"{{ call small }}", `no function "call"`},
		"range over a number":           {"{{ range 1000000000000 }}x{{ end }}", "nothing else"},
		"range over a text":             {"{{ range small }}x{{ end }}", "nothing else"},
		"with":                          {"{{ with small }}x{{ end }}", "nothing else"},
		"a template that calls itself":  {`{{ define "a" }}{{ template "a" }}{{ end }}`, "cannot define others"},
		"the script that calls itself":  {`{{ template "ipxe" }}`, "nothing else"},
		"a block":                       {`{{ block "a" . }}x{{ end }}`, "cannot define others"},
		"a variable":                    {`{{ $x := small }}`, "no variables"},
		"many insertions":               {strings.Repeat("{{small}}", 7000), "more than 8192 actions and arguments"},
		"a long text many times":        {strings.Repeat("{{some}}", 1000), "the rendered script is longer"},
		"a long text on either way":     {"{{ if .Subject.uuid }}{{ some }}x{{ else }}{{ some }}y{{ end }}", "the rendered script is longer"},
		"many actions":                  {strings.Repeat("{{/**/}}", 8180), ""},
		"too many actions":              {strings.Repeat("{{}}", MaxTerms+1), "8193 actions"},
		"too many arguments":            {"{{ if eq" + strings.Repeat(" small", MaxTerms) + " }}{{ end }}", "more than 8192 actions and arguments"},
		"decisions within decisions":    {strings.Repeat("{{ if small }}", MaxDepth+2) + strings.Repeat("{{ end }}", MaxDepth+2), "inside one another"},
		"a long chain of decisions":     {"{{ if false }}" + strings.Repeat("{{ else if false }}", 1000) + "{{ end }}", ""},
		"very many parentheses":         {"{{ " + strings.Repeat("(", 30000) + "small" + strings.Repeat(")", 30000) + " }}", "depth"},
		"mistakes in many decisions":    {strings.Repeat("{{if small}}{{.none}}", 2000) + strings.Repeat("{{end}}", 2000), "no config"},
		"a function without arguments":  {"{{ quote }}", "quote does not take 0 arguments"},
		"a function of too many":        {"{{ small | quote small }}", "quote does not take 2 arguments"},
		"a text that is given a text":   {`{{ small "x" }}`, "is no function"},
		"a truth in place of a text":    {"{{ not small | upper }}", "upper takes texts"},
		"a long name":                   {"{{ " + strings.Repeat("x", 60000) + " }}", "function"},
		"a long chain of names":         {"{{ " + strings.Repeat(".x", 30000) + " }}", "means nothing"},
		"a config whose name is a word": {"{{ some }}{{ .AdditionalContent.nothing }}", "no config"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(source("#!ipxe\n"+tc.script, configs), key)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want …%s…", err, tc.want)
			}
			if err != nil && len(err.Error()) > 2*maxMessage {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

// What only a rendering can tell is refused then, and in time.
func TestWhatARenderingCosts(t *testing.T) {
	configs := map[string]Content{"some": long(MaxValue), "half": long(MaxValue / 2), "third": long(MaxValue / 3)}
	for name, tc := range map[string]struct{ script, want string }{
		"a value becomes too long":    {"{{ urlquery some }}", "urlquery gives more than 65536 bytes"},
		"it would shrink again":       {"{{ if eq (urlquery half) half }}{{ end }}", "urlquery gives more"},
		"many values":                 {strings.Repeat("{{ if eq (urlquery third) third }}{{ end }}", 100), "given and give more than 262144 bytes"},
		"a comparison with many":      {"{{ if eq" + strings.Repeat(" some", 10) + " }}{{ end }}", "given and give more"},
		"labels without end":          {strings.Repeat("{{if .Subject.manufacturer}}{{end}}", 1200), "given and give more"},
		"a script that is too long":   {"{{ if .Subject.uuid }}{{ half }}{{ half }}{{ end }}", "longer than 65536 bytes"},
		"a truth that is a text":      {"{{ and .Subject.uuid (not .Subject.mac) | upper }}", "upper takes texts"},
		"a value that is long enough": {"{{ if eq (urlquery third) some }}{{ else }}{{ third }}{{ end }}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := compile(t, "#!ipxe\n"+tc.script, configs)
			machine := subject(t, "uuid="+someUUID+"&manufacturer="+strings.Repeat("m", 250))
			_, err := p.Render(machine, func(id string) string { return base + "/" + id })
			if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || !ofScript(err)) {
				t.Errorf("%v, want …%s…", err, tc.want)
			}
		})
	}
}

func TestARenderingEndsWithItsCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := compile(t, "#!ipxe\n{{ if .Subject.uuid }}"+strings.Repeat("{{ quote config0 }}", 100)+"{{ end }}", map[string]Content{"config0": text("x")})
	asked := 0
	_, err := p.appendScript(ctx, nil, subject(t, "uuid="+someUUID), func(dst []byte, _ string) []byte {
		if asked++; asked == 3 {
			cancel()
		}
		return dst
	})
	if !errors.Is(err, context.Canceled) || asked > 3 {
		t.Errorf("%v after %d configs", err, asked)
	}
}

// What a machine could not be given is told once, is forgotten with the profile, and is no matter of somebody who hangs up.
func TestARefusedRenderingIsToldOnce(t *testing.T) {
	v, _ := stand(t, nil)
	var told []string
	v.SubscribeRefused(func(namespace, name string) { told = append(told, namespace+"/"+name) })
	configs := map[string]Content{"some": long(MaxValue)}
	v.PutProfile(compile(t, "#!ipxe\n{{ urlquery some }}", configs))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	machine := subject(t, "uuid="+someUUID)
	if _, err := v.AppendScript(gone, nil, machine, base); !errors.Is(err, context.Canceled) || errors.Is(err, ErrBroken) {
		t.Errorf("somebody who is gone: %v", err)
	}
	if v.Refused("ns", "p") != "" {
		t.Error("told of somebody who is gone")
	}
	for range 3 {
		if _, err := v.Script(machine, base); !errors.Is(err, ErrBroken) {
			t.Errorf("%v", err)
		}
	}
	if diff := cmp.Diff([]string{"ns/p"}, told); diff != "" || !strings.Contains(v.Refused("ns", "p"), "urlquery gives") {
		t.Errorf("told (-want +got):\n%s%s", diff, v.Refused("ns", "p"))
	}
	v.PutProfile(compile(t, "#!ipxe\n{{ if some }}{{ end }}", configs))
	if v.Refused("ns", "p") != "" {
		t.Error("told of what has been corrected")
	}
}

// forever renders a script that does not end before the test says so: the URL of its config is waited for.
type forever struct {
	*View
	begun chan struct{}
	end   chan struct{}
}

func (f forever) render(ctx context.Context, namespace string) error {
	leave, err := f.limit.enter(ctx, namespace)
	if err != nil {
		return err
	}
	defer leave()
	f.begun <- struct{}{}
	<-f.end
	return nil
}

// One namespace's scripts leave room for others, and a bounded number of them waits.
func TestNamespacesDoNotWaitForOneAnother(t *testing.T) {
	v, _ := stand(t, nil)
	v.PutProfile(compile(t, "#!ipxe\n{{ if .Subject.uuid }}mine{{ end }}", nil))
	f := forever{v, make(chan struct{}), make(chan struct{})}
	flood, results := maxOfNamespace+maxWaiting, make(chan error)
	for range flood {
		go func() { results <- f.render(context.Background(), "tenant") }()
	}
	for range maxOfNamespace {
		<-f.begun
	}
	for inside := 0; inside < flood; {
		v.limit.mu.Lock()
		inside = v.limit.namespaces["tenant"].inside
		v.limit.mu.Unlock()
		runtime.Gosched()
	}
	if err := f.render(t.Context(), "tenant"); !errors.Is(err, ErrBusy) {
		t.Errorf("one more than may wait: %v", err)
	}
	if s, err := v.Script(subject(t, "uuid="+someUUID), base); err != nil || !strings.Contains(string(s.Body), "mine") {
		t.Errorf("another namespace: %q, %v", s.Body, err)
	}
	v.PutProfile(compile(t, "#!ipxe\n{{ if .Subject.uuid }}another{{ end }}", nil)) // no lock is held
	if s, err := v.Script(subject(t, "uuid="+someUUID), base); err != nil || !strings.Contains(string(s.Body), "another") {
		t.Errorf("after an edit: %q, %v", s.Body, err)
	}
	go func() {
		for range flood - maxOfNamespace {
			<-f.begun
		}
	}()
	close(f.end)
	for range flood {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if len(v.limit.namespaces) != 0 || len(v.limit.running) != 0 {
		t.Error("somebody is left in line")
	}
}

func TestWhoeverHangsUpLeavesTheLine(t *testing.T) {
	var limit renderLimit
	leave := make([]func(), maxOfNamespace)
	for i := range leave {
		var err error
		if leave[i], err = limit.enter(t.Context(), "tenant"); err != nil {
			t.Fatal(err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := limit.enter(gone, "tenant"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	for _, f := range leave {
		f()
	}
	if len(limit.namespaces) != 0 || len(limit.running) != 0 {
		t.Error("somebody is left in line")
	}
}

// TestAllTurnsFitIntoMemory holds what the documentation says of all renderings together.
func TestAllTurnsFitIntoMemory(t *testing.T) {
	if total := maxRunning * MaxRendering; total > 64<<20 {
		t.Errorf("%d bytes", total)
	}
}

// reference renders a script as text/template does, with no limit.
func reference(script string, configs map[string]Content, ids map[string]string, machine assignment.Subject, urls func(string) string) (string, error) {
	contents, names := map[string]string{}, template.FuncMap{}
	for name, f := range functions {
		if f.do == nil {
			continue
		}
		names[name] = func(given ...any) (any, error) {
			args := make([]value, len(given))
			for i, g := range given {
				switch g := g.(type) {
				case string:
					args[i] = value{text: g}
				case bool:
					args[i] = boolean(g)
				}
				if f.text && args[i].isBool {
					return nil, errors.New("a truth")
				}
			}
			if len(args) < f.least || f.most > 0 && len(args) > f.most {
				return nil, errors.New("arguments")
			}
			v := f.do(args)
			if v.isBool {
				return v.truth, nil
			}
			return v.text, nil
		}
	}
	for name, content := range configs {
		contents[name] = string(content.Bytes)
		if !content.Inserted {
			contents[name] = urls(ids[name])
		}
		names[name] = func() string { return contents[name] }
	}
	labels := machine.Labels()
	for key, value := range labels {
		labels[key] = harmless(value)
	}
	t, err := template.New("ipxe").Option("missingkey=zero").Funcs(names).Parse(script)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	data := map[string]any{fieldSubject: labels, fieldContent: contents}
	for name, text := range contents {
		data[name] = text
	}
	err = t.Execute(&out, data)
	return out.String(), err
}

// FuzzRendering checks that no script exceeds its bounds, counted and not timed, and that what is rendered is what text/template renders.
func FuzzRendering(f *testing.F) {
	for _, script := range []string{
		"{{ config0 }}{{ if .Subject.uuid }}{{ quote .Subject.mac }}{{ else }}{{ upper some }}{{ end }}",
		"{{ if and .Subject.uuid (not .Subject.mac) }}a{{ else if or .Subject.mac some }}b{{ end }}",
		"{{ some | urlquery | urlquery | upper }}", "{{ some | and .Subject.uuid | or .Subject.nothing }}{{ not some }}",
		`{{- default "x" .Subject.region | trim -}} {{/* c */}} {{ eq "a" "b" "a" }}{{ ne some "b" }}{{ hasPrefix "%" some }}{{ true }}`,
		strings.Repeat("{{ if eq (urlquery some) some some some }}{{ some }}{{ end }}", 60), "{{ and }}{{ or }}{{ eq }}", "{{ urlquery .AdditionalContent.config0 }}",
		"{{ (some) }}{{ (eq some some) | not }}{{ $.Subject.uuid }}", "{{ some some }}{{ `raw` }}", strings.Repeat("{{some}}", 90), "{{ lower \"\xff\xff\" }}",
	} {
		f.Add(script)
	}
	machine := subject(f, "uuid="+someUUID+"&manufacturer=a%7C%7Cb")
	configs := map[string]Content{"config0": text("{}"), "some": long(700)}
	urls := func(id string) string { return base + "/config/" + id }
	f.Fuzz(func(t *testing.T, script string) {
		p, err := Compile(source("#!ipxe\n"+script, configs), key)
		if err != nil {
			return
		}
		r := rendering{ctx: t.Context(), url: urls, label: func(k string) string { return harmless(machine.Get(k)) }}
		err = r.run(p.statements)
		if r.steps > MaxTerms || r.work > MaxWork+3*MaxValue || len(r.out) > MaxScript {
			t.Errorf("%d steps, %d bytes of work, %d of script", r.steps, r.work, len(r.out))
		}
		if err != nil {
			return
		}
		if strings.Contains(script, "Subject") && !slices.Contains([]string{"uuid", "mac", "manufacturer", "region", "nothing"}, canonicalOnly(script)) {
			return // labels have many spellings, of which text/template knows none
		}
		source, err := withMagic("#!ipxe\n" + script)
		if err != nil {
			t.Fatal(err)
		}
		want, err := reference(source, configs, p.ids, machine, urls)
		if err == nil && want != string(r.out) {
			t.Errorf("text/template renders\n%q, and this is\n%q", want, r.out)
		}
	})
}

// canonicalOnly returns the key of the only label that a script has, in one spelling.
func canonicalOnly(script string) string {
	keys := map[string]bool{}
	for _, after := range strings.Split(script, ".Subject.")[1:] {
		end := strings.IndexFunc(after, func(c rune) bool { return c < 'a' || c > 'z' })
		if end < 0 {
			end = len(after)
		}
		keys[after[:end]] = true
	}
	if len(keys) != 1 || strings.Count(script, "Subject") != strings.Count(script, ".Subject.") {
		return ""
	}
	for k := range keys {
		return k
	}
	return ""
}

// BenchmarkTheCostliestRendering is for whoever changes a limit.
func BenchmarkTheCostliestRendering(b *testing.B) {
	p := compile(b, "#!ipxe\n"+strings.Repeat("{{ if eq (urlquery (upper third)) third }}{{ end }}", 100), map[string]Content{"third": long(MaxValue / 3)})
	machine := subject(b, "uuid="+someUUID)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Render(machine, nil); err == nil {
			b.Fatal("it is rendered")
		}
	}
}

package profile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is cut into parts says what the template would say.
func TestPartsSayWhatTheTemplateSays(t *testing.T) {
	for name, script := range map[string]string{
		"text alone":      "#!ipxe\nshell\n",
		"three dialects":  "#!ipxe\nchain {{ one }} {{ .one }} {{ .AdditionalContent.one }}\n",
		"labels":          "#!ipxe\nset a {{ .Subject.uuid }}{{ .Subject.manufacturer }}{{ .Subject.nothing }}\n",
		"inserted":        "#!ipxe\n{{ text }}\n{{ text }}boot\n",
		"white space":     "#!ipxe\nset a  {{- .Subject.uuid -}}  \nboot\n",
		"comment":         "#!ipxe\n{{/* why */}}boot\n",
		"nothing visible": "#!ipxe\n{{ .Subject.nothing }}",
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Compile(Source{Namespace: "ns", Name: "p", UID: "u", Script: script, Configs: map[string]Content{
				"one": {Bytes: []byte("1")}, "text": {Bytes: []byte("set x y\n"), Inserted: true},
			}}, []byte("key"))
			if err != nil {
				t.Fatal(err)
			}
			if p.parts == nil {
				t.Fatal("not cut into parts")
			}
			machine := subject(t, "uuid="+someUUID+"&manufacturer=A%20%26%26%20B")
			urls := func(id string) string { return "http://x/" + id }
			got, err := p.Render(machine, urls)
			if err != nil {
				t.Fatal(err)
			}
			want, err := p.execute(t.Context(), nil, machine, urls)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("(-template +parts):\n%s", diff)
			}
		})
	}
	p, err := Compile(Source{Namespace: "ns", Name: "p", Script: "#!ipxe\n{{ if .Subject.uuid }}shell{{ end }}\n"}, nil)
	if err != nil || p.parts != nil {
		t.Errorf("a script that decides was cut into parts (%v)", err)
	}
}

package config

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// A listedField is one line of a field list: what the schema says of one path.
type listedField struct {
	kind     string // the JSON type; "array[]" for a list, empty for int-or-string
	required bool
	rules    []string // sorted
}

// A definition is what a field list says of one kind.
type definition struct {
	plural, short, scope string
	columns              []string
	fields               map[string]listedField
}

// readFieldList parses one file of testdata, by kind.
func readFieldList(t *testing.T, name string) map[string]definition {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]definition{}
	kind := ""
	for n, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			var d definition
			kind, d = parseHeading(heading)
			out[kind] = d
			continue
		}
		if err := parseLine(out, kind, line); err != nil {
			t.Fatalf("testdata/%s:%d: %v", name, n+1, err)
		}
	}
	return out
}

func parseHeading(heading string) (string, definition) {
	words := strings.Fields(heading)
	d := definition{fields: map[string]listedField{}}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "plural":
			d.plural = value
		case "short":
			d.short = value
		case "scope":
			d.scope = value
		}
	}
	return words[0], d
}

func parseLine(list map[string]definition, kind, line string) error {
	d, ok := list[kind]
	if !ok {
		return fmt.Errorf("a line before the first heading: %s", line)
	}
	if columns, ok := strings.CutPrefix(line, "columns:"); ok {
		d.columns = strings.Split(strings.TrimSpace(columns), ", ")
		list[kind] = d
		return nil
	}
	line = strings.TrimSpace(strings.TrimSuffix(line, "| earlier form"))
	parts := strings.SplitN(line, "|", 4)
	if len(parts) != 4 {
		return fmt.Errorf("want four columns: %s", line)
	}
	path := strings.TrimSpace(parts[0])
	if _, ok := d.fields[path]; ok {
		return fmt.Errorf("%s is listed twice", path)
	}
	f := listedField{kind: strings.TrimSpace(parts[1]), required: strings.TrimSpace(parts[2]) == "R"}
	if rules := strings.TrimSpace(parts[3]); rules != "" {
		f.rules = strings.Split(rules, "; ")
		slices.Sort(f.rules)
	}
	d.fields[path] = f
	return nil
}

// contract is what the CRDs have to be: the lists of the three groups with the
// additions laid over them.
func contract(t *testing.T) map[string]definition {
	t.Helper()
	out := map[string]definition{}
	for _, name := range []string{"metal-fields.txt", "boot-fields.txt", "ipxe-fields.txt", "farrier-fields.txt"} {
		maps.Copy(out, readFieldList(t, name))
	}
	for kind, addition := range readFieldList(t, "additions.txt") {
		d, ok := out[kind]
		if !ok {
			t.Fatalf("testdata/additions.txt: kind %s is in no other list", kind)
		}
		for path, added := range addition.fields {
			if base, ok := d.fields[path]; ok {
				if base.kind != added.kind || base.required != added.required {
					t.Fatalf("testdata/additions.txt: %s %s: type or required differs from the contract", kind, path)
				}
				added.rules = slices.Concat(base.rules, added.rules)
				slices.Sort(added.rules)
			}
			d.fields[path] = added
		}
	}
	return out
}

// differences says how two definitions of one kind differ, one line a difference.
func differences(want, got definition) []string {
	var out []string
	for _, attribute := range []struct{ name, want, got string }{
		{"plural", want.plural, got.plural},
		{"short names", want.short, got.short},
		{"scope", want.scope, got.scope},
		{"columns", strings.Join(want.columns, "\n"), strings.Join(got.columns, "\n")},
	} {
		if attribute.want != attribute.got {
			out = append(out, fmt.Sprintf("%s: want %s, got %s", attribute.name, attribute.want, attribute.got))
		}
	}
	for path, f := range want.fields {
		g, ok := got.fields[path]
		switch {
		case !ok:
			out = append(out, path+": missing")
		case f.kind != g.kind:
			out = append(out, fmt.Sprintf("%s: want type %q, got %q", path, f.kind, g.kind))
		case f.required != g.required:
			out = append(out, fmt.Sprintf("%s: want required %t, got %t", path, f.required, g.required))
		case !slices.Equal(f.rules, g.rules):
			out = append(out, fmt.Sprintf("%s: want rules\n\t%s\ngot\n\t%s", path, strings.Join(f.rules, "\n\t"), strings.Join(g.rules, "\n\t")))
		}
	}
	for path := range got.fields {
		if _, ok := want.fields[path]; !ok {
			out = append(out, path+": unexpected")
		}
	}
	slices.Sort(out)
	return out
}

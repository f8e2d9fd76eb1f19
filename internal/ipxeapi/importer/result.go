package importer

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// Kind says what a note is about.
type Kind string

// Kinds of notes, in the order in which they are told: what was made first, what was left out last.
const (
	Taken      Kind = "taken"      // an object that stays as it is
	Translated Kind = "translated" // what a file or an object became
	Changed    Kind = "changed"    // something that works in another way now
	Ranking    Kind = "ranking"    // machines that another profile is chosen for than before
	Unused     Kind = "unused"     // a file that nothing refers to
	Foreign    Kind = "foreign"    // a file with objects of which Farrier has no kind
	Refused    Kind = "refused"    // a file or an object that cannot be used, and why
)

var order = []Kind{Taken, Translated, Changed, Ranking, Unused, Foreign, Refused}

// Note is something that whoever imports has to know.
type Note struct {
	Kind Kind
	// File is relative to what is imported.
	File    string
	Message string
}

func (n Note) String() string { return fmt.Sprintf("%s: %s: %s", n.Kind, n.File, n.Message) }

// Options of an import.
type Options struct {
	// Namespace of the objects.
	Namespace string
	// AssetsURL is where files are that matchbox serves under /assets; empty: nowhere.
	AssetsURL string
}

// Result is what an import has made.
type Result struct {
	// Objects are those of other kinds that Farrier has, as they were.
	Objects     []*unstructured.Unstructured
	Profiles    []*ipxev1.Profile
	Assignments []*ipxev1.Assignment
	Notes       []Note

	options Options
	taken   map[string]string // where the object of a kind and a name comes from
}

// Empty reports whether nothing was imported.
func (r *Result) Empty() bool { return len(r.Objects)+len(r.Profiles)+len(r.Assignments) == 0 }

// Count counts the notes of some kinds.
func (r *Result) Count(kinds ...Kind) int {
	n := 0
	for _, note := range r.Notes {
		if slices.Contains(kinds, note.Kind) {
			n++
		}
	}
	return n
}

func newResult(o Options) *Result { return &Result{options: o, taken: map[string]string{}} }

func (r *Result) note(kind Kind, file, format string, args ...any) {
	message := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ") // on one line
	r.Notes = append(r.Notes, Note{kind, file, message})
}

// name makes a name that Kubernetes takes (RFC 1123) and nobody has.
func (r *Result) name(kind, file, wanted string) string {
	name := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '.':
			return c
		case c >= 'A' && c <= 'Z':
			return c - 'A' + 'a'
		}
		return '-'
	}, wanted)
	name = strings.Trim(name[:min(len(name), 200)], "-.")
	name = cmp.Or(name, "unnamed")
	unique := name
	for n := 2; r.taken[kind+"/"+unique] != ""; n++ {
		unique = fmt.Sprintf("%s-%d", name, n)
	}
	if unique != wanted {
		r.note(Changed, file, "%s %q is named %q", kind, wanted, unique)
	}
	r.taken[kind+"/"+unique] = file
	return unique
}

// addProfile keeps a profile that can be rendered.
func (r *Result) addProfile(file string, p *ipxev1.Profile) bool {
	source := profile.Source{Namespace: p.Namespace, Name: p.Name, Script: p.Spec.IPXE, Configs: map[string]profile.Content{}}
	for name := range p.Spec.AdditionalConfig {
		source.Configs[name] = profile.Content{}
	}
	for i := range p.Spec.AdditionalContent {
		source.Configs[p.Spec.AdditionalContent[i].Name] = profile.Content{Inserted: !p.Spec.AdditionalContent[i].Exposed}
	}
	if _, err := profile.Compile(source, nil); err != nil {
		r.note(Refused, file, "the script cannot be used: %v", err)
		return false
	}
	r.Profiles = append(r.Profiles, p)
	return true
}

// finish puts everything into an order that does not depend on chance.
func (r *Result) finish() *Result {
	slices.SortStableFunc(r.Profiles, func(a, b *ipxev1.Profile) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(r.Assignments, func(a, b *ipxev1.Assignment) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(r.Notes, func(a, b Note) int {
		return cmp.Or(slices.Index(order, a.Kind)-slices.Index(order, b.Kind), strings.Compare(a.File, b.File), strings.Compare(a.Message, b.Message))
	})
	r.Notes = slices.Compact(r.Notes) // groups that share a file find the same in it
	return r
}

// YAML writes the objects as manifests.
func (r *Result) YAML() ([]byte, error) {
	var out bytes.Buffer
	write := func(obj any) error {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return err
		}
		delete(fields, "status")
		if meta, ok := fields["metadata"].(map[string]any); ok {
			delete(meta, "creationTimestamp")
		}
		text, err := yaml.Marshal(fields)
		if err != nil {
			return err
		}
		out.WriteString("---\n")
		out.Write(text)
		return nil
	}
	for _, o := range r.Objects {
		if err := write(o); err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	for _, p := range r.Profiles {
		if err := write(p); err != nil {
			return nil, fmt.Errorf("Profile %s: %w", p.Name, err)
		}
	}
	for _, a := range r.Assignments {
		if err := write(a); err != nil {
			return nil, fmt.Errorf("Assignment %s: %w", a.Name, err)
		}
	}
	return out.Bytes(), nil
}

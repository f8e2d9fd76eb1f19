package profile

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/farrier-dev/farrier/internal/assignment"
)

// Names of what a template refers to beside configs.
const (
	fieldSubject = "Subject"
	fieldContent = "AdditionalContent"
)

// functions are all that a template can call. What formats or repeats by numbers that it
// is given is left out: a script is short and costs little, whoever wrote it.
var functions = template.FuncMap{
	"quote":     quote,
	"lower":     strings.ToLower,
	"upper":     strings.ToUpper,
	"trim":      strings.TrimSpace,
	"urlquery":  url.QueryEscape,
	"default":   func(otherwise, value string) string { return orElse(value, otherwise) },
	"eq":        func(a string, b ...string) bool { return slices.Contains(b, a) },
	"ne":        func(a, b string) bool { return a != b },
	"hasPrefix": func(prefix, text string) bool { return strings.HasPrefix(text, prefix) },
	"not":       func(value any) bool { truth, _ := template.IsTrue(value); return !truth },
}

func orElse(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// builtins of text/template that stay.
var builtins = []string{"and", "or"}

// Profile is compiled: it can be rendered for any machine. It is never changed.
type Profile struct {
	Namespace, Name, Revision string

	entry    string
	template *template.Template
	parts    []part // in place of the template, where it only inserts
	broken   error  // what keeps machines from the script
	configs  map[string]Content
	ids      map[string]string // by name, of those that have a URL
	served   map[string]served // the same
}

// Entry is what the profile is called in the record of a boot: Profile/namespace/name.
func (p *Profile) Entry() string { return p.entry }

// Key is namespace/name.
func (p *Profile) Key() string { return p.Namespace + "/" + p.Name }

func (p *Profile) key() profileKey { return profileKey{p.Namespace, p.Name} }

// IDs are the UUIDs under which configs are served, by name.
func (p *Profile) IDs() map[string]string { return maps.Clone(p.ids) }

// Compile checks a profile. The key derives the IDs of its configs. An error is about the
// script, in words for its author; what is wrong with a content is the content's own Err.
func Compile(s Source, key []byte) (*Profile, error) {
	script, err := withMagic(s.Script)
	if err != nil {
		return nil, err
	}
	p := &Profile{
		Namespace: s.Namespace, Name: s.Name, Revision: s.revision(), entry: "Profile/" + s.Namespace + "/" + s.Name,
		configs: maps.Clone(s.Configs), ids: map[string]string{}, served: map[string]served{},
	}
	for name, content := range s.Configs {
		if !content.Inserted {
			p.ids[name] = ConfigID(key, s.UID, name)
			p.served[name] = served{[]string{content.mediaType()}, []string{content.etag()}}
		}
	}
	if p.template, err = parseScript(script, s.Configs); err != nil {
		return nil, err
	}
	p.parts, p.broken = partsOf(p.template.Root, p.configs, p.ids), brokenContent(p.configs)
	return p, nil
}

const magic = "#!ipxe"

// withMagic puts what iPXE knows a script by at its very beginning. A body without it is run
// by BIOS iPXE as a raw boot program, which hangs the machine.
func withMagic(script string) (string, error) {
	if len(script) > MaxScript {
		return "", fmt.Errorf("the script is longer than %d bytes", MaxScript)
	}
	script = strings.TrimLeft(strings.TrimPrefix(script, "\ufeff"), " \t\r\n")
	script = strings.ReplaceAll(script, "\r\n", "\n")
	line, rest, _ := strings.Cut(script, "\n")
	if first := strings.TrimSpace(line); first == magic || first == "# ipxe" || first == "#ipxe" || first == "#! ipxe" || first == "# !ipxe" {
		return magic + "\n" + rest, nil
	}
	if rest, ok := strings.CutPrefix(script, magic); ok && (rest[0] == ' ' || rest[0] == '\t') {
		return script, nil
	}
	return "", fmt.Errorf("the script does not begin with %s", magic)
}

// parseScript reads the three dialects in which scripts name configs: {{ name }}, {{ .name }}
// and {{ .AdditionalContent.name }}.
func parseScript(script string, configs map[string]Content) (*template.Template, error) {
	names := template.FuncMap{}
	for name := range configs {
		if identifier(name) {
			names[name] = func() string { return "" } // for the parser; rewrite replaces it
		}
	}
	t, err := template.New("ipxe").Option("missingkey=zero").Funcs(functions).Funcs(names).Parse(script)
	if err != nil {
		return nil, readable(err)
	}
	if len(t.Templates()) > 1 {
		return nil, errors.New("a template cannot define others")
	}
	r := rewriter{configs: configs}
	if err := r.list(t.Root); err != nil {
		return nil, err
	}
	return t, nil
}

// readable takes the prefix off that text/template puts before its errors.
func readable(err error) error {
	text := strings.TrimPrefix(err.Error(), "template: ")
	if rest, ok := strings.CutPrefix(text, "ipxe:"); ok {
		text = "line " + rest
	}
	return errors.New(text)
}

// identifier reports whether a name can be written as a function.
func identifier(name string) bool {
	for i, c := range name {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && !slices.Contains([]string{"true", "false", "nil"}, name)
}

// rewriter checks a template and gives all dialects one form.
type rewriter struct{ configs map[string]Content }

func (r rewriter) list(list *parse.ListNode) error {
	if list == nil {
		return nil
	}
	for _, node := range list.Nodes {
		var err error
		switch n := node.(type) {
		case *parse.TextNode, *parse.CommentNode:
		case *parse.ActionNode:
			err = r.pipe(n.Pipe)
		case *parse.IfNode:
			err = errors.Join(r.pipe(n.Pipe), r.list(n.List), r.list(n.ElseList))
		default:
			err = fmt.Errorf("%s: a script can insert and decide ({{ if }}), nothing else", node)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r rewriter) pipe(pipe *parse.PipeNode) error {
	if len(pipe.Decl) > 0 {
		return fmt.Errorf("{{ %s }}: a script has no variables", pipe)
	}
	for _, command := range pipe.Cmds {
		for i, arg := range command.Args {
			node, err := r.argument(arg, i == 0)
			if err != nil {
				return fmt.Errorf("{{ %s }}: %w", pipe, err)
			}
			command.Args[i] = node
		}
	}
	return nil
}

func (r rewriter) argument(node parse.Node, first bool) (parse.Node, error) {
	switch n := node.(type) {
	case *parse.IdentifierNode:
		if _, ok := r.configs[n.Ident]; ok {
			return r.config(n.Pos, n.Ident)
		}
		if _, ok := functions[n.Ident]; ok && first || first && slices.Contains(builtins, n.Ident) {
			return n, nil
		}
		return nil, fmt.Errorf("there is no function %q and no config of that name", n.Ident)
	case *parse.FieldNode:
		return r.field(n.Pos, n.Ident)
	case *parse.VariableNode:
		if n.Ident[0] == "$" && len(n.Ident) > 1 {
			return r.field(n.Pos, n.Ident[1:])
		}
	case *parse.PipeNode:
		return n, r.pipe(n)
	case *parse.StringNode, *parse.BoolNode:
		return n, nil
	}
	return nil, fmt.Errorf("%s means nothing in a script", node)
}

// field finds out what a chain of names refers to.
func (r rewriter) field(pos parse.Pos, names []string) (parse.Node, error) {
	switch {
	case len(names) == 2 && names[0] == fieldSubject:
		return variable(pos, fieldSubject, assignment.CanonicalKey(names[1])), nil
	case len(names) == 2 && names[0] == fieldContent:
		return r.config(pos, names[1])
	case len(names) == 1:
		return r.config(pos, names[0])
	}
	return nil, fmt.Errorf(".%s means nothing in a script", strings.Join(names, "."))
}

func (r rewriter) config(pos parse.Pos, name string) (parse.Node, error) {
	if _, ok := r.configs[name]; !ok {
		known := slices.Sorted(maps.Keys(r.configs))
		return nil, fmt.Errorf("there is no config %q; the profile has %q", name, known)
	}
	return variable(pos, fieldContent, name), nil
}

// variable is $.a.b: the same wherever it stands.
func variable(pos parse.Pos, names ...string) parse.Node {
	return &parse.VariableNode{NodeType: parse.NodeVariable, Pos: pos, Ident: append([]string{"$"}, names...)}
}

// limited ends a rendering that has become too long.
type limited struct {
	bytes.Buffer
	err error
}

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > MaxScript {
		l.err = errTooLong
		return 0, l.err
	}
	return l.Buffer.Write(p)
}

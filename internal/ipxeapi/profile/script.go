package profile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

// Names of what a template refers to beside configs.
const (
	fieldSubject = "Subject"
	fieldContent = "AdditionalContent"
)

// statement is a piece of a script: a text, what is inserted, or a decision.
type statement struct {
	text            string
	insert, test    expression
	then, otherwise []statement
}

// expression is what has a value: a literal, a label of the machine, a config or a call.
type expression interface {
	eval(r *rendering) (value, error)
}

type (
	literal value
	label   string // the canonical key
	// link is a config that has a URL, by its ID.
	link string
	call struct {
		name string
		*function
		args []expression
	}
)

// parseScript reads the three dialects in which scripts name configs: {{ name }}, {{ .name }} and
// {{ .AdditionalContent.name }}. text/template only reads: it would execute without a limit on what lies between two functions.
func parseScript(script string, configs map[string]Content, ids map[string]string) ([]statement, error) {
	if n := strings.Count(script, "{{"); n > MaxTerms {
		return nil, fmt.Errorf("the script has %d actions ({{ … }}), at most %d can be", n, MaxTerms)
	}
	names := template.FuncMap{}
	for name := range functions {
		names[name] = func() string { return "" } // for the parser, which asks for nothing but the name
	}
	for name := range configs {
		if identifier(name) {
			names[name] = names["quote"]
		}
	}
	t, err := template.New("ipxe").Funcs(names).Parse(script)
	if err != nil {
		return nil, readable(err)
	}
	if len(t.Templates()) > 1 {
		return nil, errors.New("a template cannot define others")
	}
	c := compiler{configs: configs, ids: ids, texts: map[string]string{}}
	statements, err := c.list(t.Root, 0)
	if err != nil {
		return nil, err
	}
	if least(statements) > MaxScript {
		return nil, errTooLong
	}
	return statements, nil
}

// readable takes the prefix off that text/template puts before its errors.
func readable(err error) error {
	text := strings.TrimPrefix(err.Error(), "template: ")
	if rest, ok := strings.CutPrefix(text, "ipxe:"); ok {
		text = "line " + rest
	}
	return errors.New(clip(text, maxMessage))
}

// maxMessage bounds what an error repeats of a script, which is as long as its author likes.
const maxMessage = 512

func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
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

// compiler checks a template and gives all dialects one form. It ends at the first mistake: a script can have very many.
type compiler struct {
	configs map[string]Content
	ids     map[string]string
	// texts are those of configs that are inserted, once for however many places.
	texts map[string]string
	terms int
}

// count refuses a script of too many terms, or too deep a one.
func (c *compiler) count(depth int) error {
	if c.terms++; c.terms > MaxTerms {
		return fmt.Errorf("the script has more than %d actions and arguments", MaxTerms)
	}
	if depth > MaxDepth {
		return fmt.Errorf("more than %d decisions or parentheses are inside one another", MaxDepth)
	}
	return nil
}

func (c *compiler) list(list *parse.ListNode, depth int) ([]statement, error) {
	if list == nil {
		return nil, nil
	}
	var all []statement
	for _, node := range list.Nodes {
		var s statement
		var err error
		switch n := node.(type) {
		case *parse.CommentNode:
			continue
		case *parse.TextNode:
			s.text = string(n.Text)
		case *parse.ActionNode:
			s.insert, err = c.action(n.Pipe, depth)
		case *parse.IfNode:
			s, err = c.decision(n, depth)
		default:
			err = fmt.Errorf("%s: a script can insert and decide ({{ if }}), nothing else", clip(node.String(), maxShown))
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// maxShown bounds how much of an action an error shows.
const maxShown = 64

func (c *compiler) decision(n *parse.IfNode, depth int) (s statement, err error) {
	if s.test, err = c.action(n.Pipe, depth); err != nil {
		return s, err
	}
	if s.then, err = c.list(n.List, depth+1); err != nil {
		return s, err
	}
	// {{ else if }} is an if alone in the list; a chain of them is no deeper at its end.
	if n.ElseList != nil && len(n.ElseList.Nodes) == 1 && n.ElseList.Nodes[0].Type() == parse.NodeIf {
		depth--
	}
	s.otherwise, err = c.list(n.ElseList, depth+1)
	return s, err
}

// action is the outermost pipe of an action, which errors name.
func (c *compiler) action(pipe *parse.PipeNode, depth int) (expression, error) {
	e, err := c.pipe(pipe, depth)
	if err != nil {
		return nil, fmt.Errorf("{{ %s }}: %w", clip(pipe.String(), maxShown), err)
	}
	return e, nil
}

// pipe makes nested calls of a pipe: each command has the value of the one before as its last argument.
func (c *compiler) pipe(pipe *parse.PipeNode, depth int) (expression, error) {
	if len(pipe.Decl) > 0 {
		return nil, errors.New("a script has no variables")
	}
	if len(pipe.Cmds) > MaxPipe {
		return nil, fmt.Errorf("the pipe has %d commands, at most %d can be", len(pipe.Cmds), MaxPipe)
	}
	if err := c.count(depth); err != nil {
		return nil, err
	}
	var result expression
	for _, command := range pipe.Cmds {
		var err error
		if result, err = c.command(command.Args, result, depth); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// command is a value, or a call; piped is nil in the first command of a pipe.
func (c *compiler) command(args []parse.Node, piped expression, depth int) (expression, error) {
	if id, ok := args[0].(*parse.IdentifierNode); ok {
		if _, isConfig := c.configs[id.Ident]; !isConfig {
			return c.call(id.Ident, args[1:], piped, depth)
		}
	}
	if len(args) > 1 || piped != nil {
		return nil, fmt.Errorf("%s is no function and takes nothing", clip(args[0].String(), maxShown))
	}
	return c.argument(args[0], depth)
}

func (c *compiler) call(name string, given []parse.Node, piped expression, depth int) (expression, error) {
	f := functions[name]
	if f == nil {
		return nil, errNoFunction(name)
	}
	all := make([]expression, 0, len(given)+1)
	for _, node := range given {
		e, err := c.argument(node, depth)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	if piped != nil {
		all = append(all, piped)
	}
	if len(all) < f.least || f.most > 0 && len(all) > f.most {
		return nil, fmt.Errorf("%s does not take %d arguments", name, len(all))
	}
	for _, e := range all {
		if f.text && truth(e) {
			return nil, errNoText(name)
		}
	}
	return call{name: name, function: f, args: all}, nil
}

func errNoFunction(name string) error {
	return fmt.Errorf("there is no function %q and no config of that name", clip(name, maxShown))
}

func errNoText(name string) error {
	return fmt.Errorf("%s takes texts, and is given true or false", name)
}

// truth reports whether an expression is never a text.
func truth(e expression) bool {
	switch e := e.(type) {
	case literal:
		return e.isBool
	case call:
		return e.decides
	}
	return false
}

func (c *compiler) argument(node parse.Node, depth int) (expression, error) {
	if err := c.count(depth); err != nil {
		return nil, err
	}
	switch n := node.(type) {
	case *parse.IdentifierNode:
		if _, ok := c.configs[n.Ident]; ok {
			return c.config(n.Ident)
		}
		return nil, errNoFunction(n.Ident)
	case *parse.FieldNode:
		return c.field(n.Ident)
	case *parse.VariableNode:
		if n.Ident[0] == "$" && len(n.Ident) > 1 {
			return c.field(n.Ident[1:])
		}
	case *parse.PipeNode:
		return c.pipe(n, depth+1)
	case *parse.StringNode:
		return literal{text: n.Text}, nil
	case *parse.BoolNode:
		return literal{isBool: true, truth: n.True}, nil
	}
	return nil, fmt.Errorf("%s means nothing in a script", clip(node.String(), maxShown))
}

// field finds out what a chain of names refers to.
func (c *compiler) field(names []string) (expression, error) {
	switch {
	case len(names) == 2 && names[0] == fieldSubject:
		return label(assignment.CanonicalKey(names[1])), nil
	case len(names) == 2 && names[0] == fieldContent:
		return c.config(names[1])
	case len(names) == 1:
		return c.config(names[0])
	}
	return nil, fmt.Errorf(".%s means nothing in a script", clip(strings.Join(names, "."), maxShown))
}

// config is the URL of a config, or the text itself.
func (c *compiler) config(name string) (expression, error) {
	content, ok := c.configs[name]
	if !ok {
		known := slices.Sorted(maps.Keys(c.configs))
		return nil, fmt.Errorf("there is no config %q; the profile has %s", clip(name, maxShown), clip(fmt.Sprintf("%q", known), maxMessage))
	}
	if !content.Inserted {
		return link(c.ids[name]), nil
	}
	if len(content.Bytes) > MaxValue {
		return nil, fmt.Errorf("config %q has %d bytes, and at most %d can be inserted; exposed: true gives it a URL instead", clip(name, maxShown), len(content.Bytes), MaxValue)
	}
	if _, used := c.texts[name]; !used {
		c.texts[name] = string(content.Bytes)
	}
	return literal{text: c.texts[name]}, nil
}

// least is what a script is long at least, whichever machine it is for.
func least(statements []statement) int {
	total := 0
	for _, s := range statements {
		total += len(s.text)
		if l, ok := s.insert.(literal); ok {
			total += len(l.text)
		}
		if s.test != nil {
			total += min(least(s.then), least(s.otherwise))
		}
	}
	return total
}

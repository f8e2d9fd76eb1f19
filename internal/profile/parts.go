package profile

import (
	"fmt"
	"maps"
	"slices"
	"text/template/parse"

	"github.com/farrier-dev/farrier/internal/assignment"
)

// part is a piece of a script: text, the URL of a config, or a label of the machine.
type part struct{ text, id, label string }

// partsOf cuts a template that only inserts into parts, which is what nearly all scripts are; nil where it
// decides or calls functions, and has to be executed. The template has been rewritten.
func partsOf(list *parse.ListNode, configs map[string]Content, ids map[string]string) []part {
	parts := []part{}
	text := func(s string) {
		if last := len(parts) - 1; last >= 0 && parts[last].id == "" && parts[last].label == "" {
			parts[last].text += s
		} else {
			parts = append(parts, part{text: s})
		}
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.CommentNode:
		case *parse.TextNode:
			text(string(n.Text))
		case *parse.ActionNode:
			what, name, ok := inserted(n.Pipe)
			switch {
			case !ok:
				return nil
			case what == fieldSubject:
				parts = append(parts, part{label: name})
			case configs[name].Inserted:
				text(string(configs[name].Bytes))
			default:
				parts = append(parts, part{id: ids[name]})
			}
		default:
			return nil
		}
	}
	return parts
}

// inserted is what an action stands for that is nothing but $.what.name.
func inserted(pipe *parse.PipeNode) (what, name string, ok bool) {
	if len(pipe.Cmds) != 1 || len(pipe.Cmds[0].Args) != 1 {
		return "", "", false
	}
	v, ok := pipe.Cmds[0].Args[0].(*parse.VariableNode)
	if !ok || len(v.Ident) != 3 {
		return "", "", false
	}
	return v.Ident[1], v.Ident[2], true
}

// brokenContent says which content keeps machines from the script.
func brokenContent(configs map[string]Content) error {
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		if configs[name].Err != "" {
			return fmt.Errorf("config %q: %s", name, configs[name].Err)
		}
	}
	return nil
}

// appendScript appends the script of a machine; url appends the URL of a config.
func (p *Profile) appendScript(dst []byte, subject assignment.Subject, url func(dst []byte, id string) []byte) ([]byte, error) {
	if p.broken != nil {
		return nil, p.broken
	}
	if p.parts == nil {
		body, err := p.execute(subject, func(id string) string { return string(url(nil, id)) })
		return append(dst, body...), err
	}
	start := len(dst)
	for _, part := range p.parts {
		switch {
		case part.id != "":
			dst = url(dst, part.id)
		case part.label != "":
			dst = append(dst, harmless(subject.Get(part.label))...)
		default:
			dst = append(dst, part.text...)
		}
		if len(dst)-start > MaxScript {
			return nil, errTooLong
		}
	}
	return dst, nil
}

var errTooLong = fmt.Errorf("the rendered script is longer than %d bytes", MaxScript)

package profile

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

// part is a piece of a script: text, the URL of a config, or a label of the machine.
type part struct{ text, id, label string }

// partsOf cuts a script that only inserts into parts; nearly all scripts do. It returns nil for one that
// decides or calls functions: that has to be executed.
func partsOf(statements []statement) []part {
	parts, text := []part{}, []byte{}
	add := func(p part) {
		if len(text) > 0 {
			parts, text = append(parts, part{text: string(text)}), text[:0]
		}
		if p != (part{}) {
			parts = append(parts, p)
		}
	}
	for _, s := range statements {
		if s.test != nil {
			return nil
		}
		switch e := s.insert.(type) {
		case nil:
			text = append(text, s.text...)
		case literal:
			text = append(text, value(e).String()...)
		case label:
			add(part{label: string(e)})
		case link:
			add(part{id: string(e)})
		default:
			return nil
		}
	}
	add(part{})
	return parts
}

// brokenContent returns an error that names the content without which machines do not get the script.
func brokenContent(configs map[string]Content) error {
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		if configs[name].Err != "" {
			return fmt.Errorf("config %q: %s", name, configs[name].Err)
		}
	}
	return nil
}

// appendScript appends the script of a machine; url appends the URL of a config.
func (p *Profile) appendScript(ctx context.Context, dst []byte, subject assignment.Subject, url func(dst []byte, id string) []byte) ([]byte, error) {
	if p.parts == nil && p.broken == nil {
		return p.execute(ctx, dst, subject, func(id string) string { return string(url(nil, id)) })
	}
	return p.insert(dst, subject, url)
}

// insert is appendScript for a script that only inserts, or is broken.
func (p *Profile) insert(dst []byte, subject assignment.Subject, url func(dst []byte, id string) []byte) ([]byte, error) {
	if p.broken != nil {
		return nil, p.broken
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
			return nil, scriptError{errTooLong}
		}
	}
	return dst, nil
}

package profile

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/farrier-dev/farrier/internal/assignment"
)

// Render writes the script of a machine. urls makes the URL of a config from its ID.
func (p *Profile) Render(subject assignment.Subject, urls func(id string) string) ([]byte, error) {
	contents := make(map[string]string, len(p.configs))
	for name, content := range p.configs {
		switch {
		case content.Err != "":
			return nil, fmt.Errorf("config %q: %s", name, content.Err)
		case content.Inserted:
			contents[name] = string(content.Bytes)
		default:
			contents[name] = urls(p.ids[name])
		}
	}
	labels := subject.Labels()
	for key, value := range labels {
		labels[key] = harmless(value)
	}
	var out limited
	err := p.template.Execute(&out, map[string]map[string]string{fieldSubject: labels, fieldContent: contents})
	if out.err != nil {
		return nil, out.err
	}
	if err != nil {
		return nil, readable(err)
	}
	return out.Bytes(), nil
}

// Query is the labels of a machine as a URL carries them: the UUID first, so that a log tells
// at a glance whose it is, then in order.
func Query(subject assignment.Subject) string {
	var b strings.Builder
	add := func(key string) {
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(url.QueryEscape(key) + "=" + url.QueryEscape(subject.Get(key)))
	}
	if subject.Get(assignment.KeyUUID) != "" {
		add(assignment.KeyUUID)
	}
	for _, key := range subject.Keys() {
		if key != assignment.KeyUUID {
			add(key)
		}
	}
	return b.String()
}

// harmless replaces everything in a machine's label that means something to iPXE: expansion
// (${…}), operators (|| && ;), quotes and escapes. Firmware says these things, or somebody who
// pretends to be it, and a script must stay its author's.
func harmless(value string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune(" ._:/@+,=-", r):
			return r
		}
		return '_'
	}, value)
}

// quote makes one word of a value for iPXE.
func quote(value string) string { return `"` + harmless(value) + `"` }

// mediaType is what a config is served as. Ignition is JSON, and clients look.
func (c Content) mediaType() string {
	if c.Type != "" {
		return c.Type
	}
	if json.Valid(c.Bytes) && strings.HasPrefix(strings.TrimSpace(string(c.Bytes)), "{") {
		return "application/json"
	}
	return "text/plain; charset=utf-8"
}

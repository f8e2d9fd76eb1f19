package main

import (
	"encoding/json"

	"github.com/yuin/goldmark/ast"
)

// found is a section of a page as the search has it. Names are short because the reader loads them.
type found struct {
	URL     string `json:"u"`
	Title   string `json:"t"`
	Heading string `json:"h,omitempty"`
	Text    string `json:"x"`
}

// searchIndex is a script and no JSON, because a browser that reads the site from a folder loads no JSON.
func searchIndex(entries []found) ([]byte, error) {
	list, err := json.Marshal(entries)
	if err != nil {
		return nil, err
	}
	return append(append([]byte("window.farrierIndex = "), list...), ";\n"...), nil
}

// searched are the sections of a page, each with its text up to the next heading.
func (t *tree) searched(p *page) []found {
	address, _ := t.address(p.name) // it is in the tree
	var all []found
	for i, h := range p.headings {
		entry := found{URL: address, Title: p.title}
		if i > 0 {
			entry.URL, entry.Heading = address+"#"+h.anchor, h.title
		}
		for n := h.node.NextSibling(); n != nil && n.Kind() != ast.KindHeading; n = n.NextSibling() {
			if text := plain(n, p.text); text != "" {
				entry.Text += text + " "
			}
		}
		all = append(all, entry)
	}
	return all
}

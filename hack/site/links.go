package main

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// lead makes the links of a page lead to the pages of the site, and returns those that lead nowhere.
func (t *tree) lead(p *page) []error {
	var problems []error
	from, _ := t.address(p.name) // it is in the tree
	p.links(func(n ast.Node, destination *[]byte) {
		d := string(*destination)
		_, picture := n.(*ast.Image)
		if elsewhere(d) {
			if picture {
				problems = append(problems, fmt.Errorf("%s: the picture %s is not ours: readers would ask another host for it", p.name, d))
			}
			return
		}
		name, anchor := p.origin[n].name, p.origin[n].anchor
		to, found := t.address(name)
		switch {
		case strings.HasPrefix(name, "../") || !found:
			problems = append(problems, fmt.Errorf("%s: links to %s, which does not exist", p.name, d))
			return
		case anchor != "" && !t.anchored(name, anchor):
			problems = append(problems, fmt.Errorf("%s: links to %s, and that page has no such heading", p.name, d))
			return
		}
		if to != from {
			*destination = []byte(relative(from, to))
		} else {
			*destination = nil
		}
		if anchor != "" {
			*destination = append(*destination, "#"+anchor...)
		}
		if len(*destination) == 0 {
			*destination = []byte("#")
		}
	})
	return problems
}

func (t *tree) anchored(name, anchor string) bool {
	if p := t.pages[name]; p != nil {
		return p.anchors[anchor]
	}
	if p := t.pages[name+"/"+home]; p != nil {
		return p.anchors[anchor]
	}
	return false
}

package main

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// section is a part of the navigation, as docs/README.md has it.
type section struct {
	title string
	items []item
}

// item is a page of a section. Children are the pages of its own folder, where it is the README.md of one.
type item struct {
	page     *page
	children []*page
}

// navigate takes the order of the pages from docs/README.md: a page is where it is linked first as a whole, or, if it is nowhere, where one of its headings
// is linked first. A page of docs/ that is not there is an error.
func navigate(t *tree) ([]section, error) {
	overview := t.pages[index]
	if overview == nil {
		return nil, fmt.Errorf("%s does not exist", index)
	}
	first := map[string]int{} // page → which of the links
	visit(overview, func(number int, _ string, name string, whole bool) {
		if _, known := first[name]; whole && !known {
			first[name] = number
		}
	})
	visit(overview, func(number int, _ string, name string, _ bool) {
		if _, known := first[name]; !known {
			first[name] = number
		}
	})
	var sections []section
	visit(overview, func(number int, title, name string, _ bool) {
		p := t.pages[name]
		if p == nil || name == home || name == index || first[name] != number {
			return
		}
		if len(sections) == 0 || sections[len(sections)-1].title != title {
			sections = append(sections, section{title: title})
		}
		last := &sections[len(sections)-1]
		last.items = append(last.items, item{page: p, children: t.children(p)})
	})
	return sections, missing(t, sections)
}

// visit calls a function for each link of a page that leads to a page, with the number of the link and the title of the section in which it is.
func visit(p *page, do func(number int, title, name string, whole bool)) {
	title, number := "", 0
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // returns what this function does, which is nil
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			title = plain(n, p.text)
		case *ast.Link:
			if name, anchor := p.origin[n].name, p.origin[n].anchor; path.Ext(name) == ".md" {
				number++
				do(number, title, name, anchor == "")
			}
		}
		return ast.WalkContinue, nil
	})
}

// children are the pages of the folder of a README.md, and below it.
func (t *tree) children(p *page) []*page {
	if path.Base(p.name) != home {
		return nil
	}
	var found []*page
	for _, name := range slices.Sorted(maps.Keys(t.pages)) {
		if strings.HasPrefix(name, path.Dir(p.name)+"/") && name != p.name {
			found = append(found, t.pages[name])
		}
	}
	return found
}

// missing says which pages of docs/ the navigation does not have.
func missing(t *tree, sections []section) error {
	there := map[string]bool{index: true}
	for _, s := range sections {
		for _, i := range s.items {
			there[i.page.name] = true
			for _, c := range i.children {
				there[c.name] = true
			}
		}
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(t.pages)) {
		if strings.HasPrefix(name, "docs/") && !there[name] {
			problems = append(problems, fmt.Errorf("%s is not in the navigation: link it in %s", name, index))
		}
	}
	return errors.Join(problems...)
}

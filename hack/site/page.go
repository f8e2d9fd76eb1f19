package main

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// page is a file of Markdown.
type page struct {
	name     string // its path in the project
	title    string // its first heading
	text     []byte
	root     ast.Node
	headings []heading
	anchors  map[string]bool
	origin   map[ast.Node]place // where links lead to in the project
}

// place is a file or folder of the project, and an anchor there.
type place struct{ name, anchor string }

// heading begins a section.
type heading struct {
	level         int
	title, anchor string
	node          ast.Node
}

// markdown reads and writes pages: CommonMark with the tables of GitHub.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Linkify))

func parse(name string, content []byte) (*page, error) {
	p := &page{name: name, text: content, anchors: map[string]bool{}, origin: map[ast.Node]place{}, root: markdown.Parser().Parse(text.NewReader(content))}
	err := ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			p.add(n)
		case *ast.HTMLBlock:
			if n.HTMLBlockType != ast.HTMLBlockType2 { // a comment
				return ast.WalkStop, fmt.Errorf("%s: HTML in Markdown, of which the site shows nothing: %q", name, n.Lines().Value(content))
			}
		case *ast.RawHTML:
			return ast.WalkStop, fmt.Errorf("%s: HTML in Markdown, of which the site shows nothing: %q", name, n.Segments.Value(content))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	if len(p.headings) == 0 || p.headings[0].level != 1 {
		return nil, fmt.Errorf("%s: does not begin with a title", name)
	}
	p.title = p.headings[0].title
	return p, nil
}

// add gives a heading the anchor that GitHub gives it, so that links work in both places.
func (p *page) add(n *ast.Heading) {
	title := plain(n, p.text)
	anchor := slug(title)
	for i := 1; p.anchors[anchor]; i++ {
		anchor = slug(title) + "-" + strconv.Itoa(i)
	}
	p.anchors[anchor] = true
	n.SetAttributeString("id", []byte(anchor))
	p.headings = append(p.headings, heading{level: n.Level, title: title, anchor: anchor, node: n})
}

// slug is a title in lower case, without marks, and with hyphens for blanks.
func slug(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// plain is the text of a node without its markup, in one line.
func plain(n ast.Node, content []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // returns what this function does, which is nil
		if !entering {
			if n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(content))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(content))
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			b.Write(n.Lines().Value(content))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// links calls a function for the destination of each link and picture, which it may change.
func (p *page) links(do func(n ast.Node, destination *[]byte)) {
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // returns what this function does, which is nil
		if entering {
			switch n := n.(type) {
			case *ast.Link:
				do(n, &n.Destination)
			case *ast.Image:
				do(n, &n.Destination)
			}
		}
		return ast.WalkContinue, nil
	})
}

// elsewhere reports whether a link leaves the project.
func elsewhere(destination string) bool {
	return strings.Contains(destination, "://") || strings.HasPrefix(destination, "mailto:")
}

// targets are the files and folders that a page links to. It keeps where each link leads to.
func (p *page) targets() []string {
	var found []string
	p.links(func(n ast.Node, destination *[]byte) {
		d := string(*destination)
		if elsewhere(d) {
			return
		}
		file, anchor, _ := strings.Cut(d, "#")
		to := place{name: p.name, anchor: anchor}
		if file != "" {
			to.name = path.Join(path.Dir(p.name), file)
		}
		p.origin[n] = to
		found = append(found, to.name)
	})
	return found
}

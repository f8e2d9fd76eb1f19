package main

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

//go:embed assets
var assets embed.FS

// view is what the template shows.
type view struct {
	Title, Root, Here string
	Sections          []viewSection
	Contents          []link
	Body              template.HTML
}

type viewSection struct {
	Title string
	Open  bool
	Items []link
}

// link leads to a page or, in the contents of a page, to a heading.
type link struct {
	Title, URL string
	Current    bool
	Deep       bool // a heading below a heading
	Children   []link
}

// render writes all files of the site.
func render(t *tree, sections []section, base string) (map[string][]byte, error) {
	layout, err := template.ParseFS(assets, "assets/page.html")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	maps.Copy(files, t.images)
	show := func(address string, v view) error {
		var b bytes.Buffer
		v.Here = address
		err := layout.Execute(&b, v)
		files[address] = b.Bytes()
		return err
	}
	var index []found
	for _, name := range slices.Sorted(maps.Keys(t.pages)) {
		p := t.pages[name]
		address, _ := t.address(name) // it is in the tree
		index = append(index, t.searched(p)...)
		body, err := t.body(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := show(address, view{Title: p.title, Root: relative(address, ""), Sections: t.sections(sections, address, p), Contents: contents(p), Body: body}); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.sources)) {
		address, _ := t.address(name) // it is in the tree
		v := view{Title: name, Root: relative(address, ""), Sections: t.sections(sections, address, nil), Body: t.sourceBody(t.sources[name], address)}
		if err := show(address, v); err != nil {
			return nil, err
		}
	}
	// Nobody knows in which folder a page is looked for that does not exist, so this page names everything from the top.
	lost := view{Title: "No such page", Root: base, Sections: t.sections(sections, "", nil),
		Body: template.HTML("<h1>No such page</h1>\n<p>This site has no page of that address. The contents list all pages, and the search knows all headings.</p>\n")}
	for i := range lost.Sections {
		lost.Sections[i].absolute(base)
	}
	if err := show("404.html", lost); err != nil {
		return nil, err
	}
	for _, name := range []string{"site.css", "search.js"} {
		if files[name], err = assets.ReadFile("assets/" + name); err != nil {
			return nil, err
		}
	}
	files[marker], err = searchIndex(index)
	return files, err
}

func (s *viewSection) absolute(base string) {
	for i := range s.Items {
		s.Items[i].URL = base + s.Items[i].URL
	}
}

// sections is the navigation as one page shows it: the section of the page is open, and so is the list of its folder.
func (t *tree) sections(all []section, from string, p *page) []viewSection {
	lead := func(to *page) link {
		address, _ := t.address(to.name) // it is in the tree
		return link{Title: to.title, URL: relative(from, address), Current: to == p}
	}
	top := p == nil || p.name == home || p.name == index
	var shown []viewSection
	for _, s := range all {
		v := viewSection{Title: s.title, Open: top}
		for _, i := range s.items {
			l := lead(i.page)
			if l.Current || slices.Contains(i.children, p) {
				v.Open = true
				for _, c := range i.children {
					l.Children = append(l.Children, lead(c))
				}
			}
			v.Items = append(v.Items, l)
		}
		shown = append(shown, v)
	}
	return shown
}

// contents are the headings of a page below its title.
func contents(p *page) []link {
	var all []link
	for _, h := range p.headings[1:] {
		if h.level <= 3 {
			all = append(all, link{Title: h.title, URL: "#" + h.anchor, Deep: h.level == 3})
		}
	}
	if len(all) < 2 {
		return nil
	}
	return all
}

func (t *tree) body(p *page) (template.HTML, error) {
	var b bytes.Buffer
	w := renderer.NewRenderer(renderer.WithNodeRenderers(util.Prioritized(nodes{p}, 100), util.Prioritized(extension.NewTableHTMLRenderer(), 500),
		util.Prioritized(html.NewRenderer(), 1000)))
	label(p)
	err := w.Render(&b, p.text, p.root)
	return template.HTML(b.String()), err // what Markdown has of HTML is refused when it is read
}

// label names the column in each cell, for narrow screens, where a row is shown as a list, and keeps what a screen reader knows of the table there.
func label(p *page) {
	for table := range children(p.root) {
		if table.Kind() != extast.KindTable {
			continue
		}
		var titles []string
		for row := range children(table) {
			column := 0
			for cell := range children(row) {
				if row.Kind() == extast.KindTableHeader {
					titles = append(titles, plain(cell, p.text))
				} else if title := titles[column]; title != "" && column > 0 {
					cell.SetAttributeString("data-label", []byte(title))
				}
				column++
			}
		}
	}
}

// children are the nodes directly below a node.
func children(n ast.Node) func(func(ast.Node) bool) {
	return func(yield func(ast.Node) bool) {
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if !yield(c) {
				return
			}
		}
	}
}

// nodes writes those nodes that the site shows in its own way.
type nodes struct{ page *page }

func (r nodes) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(ast.KindHeading, r.heading)
	register.Register(ast.KindFencedCodeBlock, r.code)
	register.Register(ast.KindHTMLBlock, nothing)
	register.Register(extast.KindTable, r.table)
}

// nothing leaves out comments.
func nothing(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkSkipChildren, nil
}

// heading writes a heading that is a link to itself.
func (r nodes) heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	h := n.(*ast.Heading)
	id, _ := h.AttributeString("id")
	if entering {
		_, err := fmt.Fprintf(w, "<h%d id=\"%s\">", h.Level, id)
		return ast.WalkContinue, err
	}
	if h.Level > 1 {
		fmt.Fprintf(w, ` <a class="here" href="#%s" aria-label="Link to: %s">#</a>`, id, template.HTMLEscapeString(plain(h, r.page.text)))
	}
	_, err := fmt.Fprintf(w, "</h%d>\n", h.Level)
	return ast.WalkContinue, err
}

// table writes a table that scrolls by itself where it is too wide, and of which the keyboard knows.
func (r nodes) table(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	text := "</table></div>\n"
	if entering {
		columns := len(n.(*extast.Table).Alignments)
		text = fmt.Sprintf("<div class=\"table\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table class=\"columns-%d\">\n", columns)
		if columns > 2 {
			text = "<div class=\"table\"><table class=\"wide\">\n"
		}
	}
	_, err := w.WriteString(text)
	return ast.WalkContinue, err
}

// code writes a block of code, and a diagram of states as a list, because a picture of it would need a program in the browser.
func (r nodes) code(w util.BufWriter, content []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	text := string(n.Lines().Value(content))
	if string(n.(*ast.FencedCodeBlock).Language(content)) == "mermaid" {
		return ast.WalkSkipChildren, diagram(w, text)
	}
	_, err := fmt.Fprintf(w, "<pre tabindex=\"0\"><code>%s</code></pre>\n", template.HTMLEscapeString(text))
	return ast.WalkSkipChildren, err
}

// diagram writes a stateDiagram-v2 as the ways out of each state.
func diagram(w util.BufWriter, text string) error {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if lines[0] != "stateDiagram-v2" {
		return fmt.Errorf("the site draws no %s, only stateDiagram-v2", lines[0])
	}
	fmt.Fprint(w, "<dl class=\"states\">\n")
	last := ""
	for _, line := range lines[1:] {
		from, rest, found := strings.Cut(strings.TrimSpace(line), " --> ")
		to, why, _ := strings.Cut(rest, ": ")
		if !found {
			return fmt.Errorf("the site draws no %q of a diagram", line)
		}
		if from == "[*]" {
			from = "at first"
		}
		if from != last {
			fmt.Fprintf(w, "<dt>%s</dt>\n", template.HTMLEscapeString(from))
			last = from
		}
		if why != "" {
			why = " <span>" + template.HTMLEscapeString(why) + "</span>"
		}
		fmt.Fprintf(w, "<dd>→ %s%s</dd>\n", template.HTMLEscapeString(to), why)
	}
	_, err := fmt.Fprint(w, "</dl>\n")
	return err
}

// sourceBody shows a file or a folder.
func (t *tree) sourceBody(s *source, from string) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, "<h1><code>%s</code></h1>\n", template.HTMLEscapeString(s.name))
	if !s.folder {
		fmt.Fprintf(&b, "<pre tabindex=\"0\"><code>%s</code></pre>\n", template.HTMLEscapeString(s.text))
		return template.HTML(b.String())
	}
	b.WriteString("<ul class=\"files\">\n")
	for _, e := range s.entries {
		text := "<code>" + template.HTMLEscapeString(e) + "</code>"
		if to, there := t.address(path.Join(s.name, e)); there {
			text = fmt.Sprintf(`<a href="%s">%s</a>`, template.HTMLEscapeString(relative(from, to)), text)
		}
		fmt.Fprintf(&b, "<li>%s</li>\n", text)
	}
	b.WriteString("</ul>\n")
	return template.HTML(b.String())
}

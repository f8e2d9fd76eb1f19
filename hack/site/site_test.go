package main

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// project is the site of this project.
func project(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := build("../..", "/")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestSameBytes: the same files give the same bytes.
func TestSameBytes(t *testing.T) {
	one, two := project(t), project(t)
	if !slices.Equal(slices.Sorted(maps.Keys(one)), slices.Sorted(maps.Keys(two))) {
		t.Fatal("other files at the second time")
	}
	for name := range one {
		if !bytes.Equal(one[name], two[name]) {
			t.Errorf("%s: other bytes at the second time", name)
		}
	}
}

// TestEveryPageIsInTheNavigation: each page of docs/ is led to from the contents of the overview, and of its own section.
func TestEveryPageIsInTheNavigation(t *testing.T) {
	files := project(t)
	pages := 0
	for name, content := range files {
		if !strings.HasPrefix(name, "docs/") || path.Ext(name) != ".html" {
			continue
		}
		pages++
		if !strings.Contains(string(content), `aria-current="page"`) {
			t.Errorf("the navigation of %s does not have the page itself", name)
		}
	}
	if pages < 50 {
		t.Errorf("%d pages of docs/, want all of them", pages)
	}
}

var (
	attribute = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	id        = regexp.MustCompile(` id="([^"]+)"`)
)

// TestLinksOfTheSite follows each link of the HTML, as a browser does.
func TestLinksOfTheSite(t *testing.T) {
	files := project(t)
	ids := map[string]bool{}
	for name, content := range files {
		for _, m := range id.FindAllSubmatch(content, -1) {
			if ids[name+"#"+string(m[1])] {
				t.Errorf("%s has two of the id %s", name, m[1])
			}
			ids[name+"#"+string(m[1])] = true
		}
	}
	followed := 0
	for name, content := range files {
		if path.Ext(name) != ".html" {
			continue
		}
		for _, m := range attribute.FindAllSubmatch(content, -1) {
			to, anchor, _ := strings.Cut(string(m[1]), "#")
			switch {
			case elsewhere(string(m[1])):
				continue
			case to == "":
				to = name
			case strings.HasPrefix(to, "/"):
				to = to[1:]
			default:
				to = path.Join(path.Dir(name), to)
			}
			followed++
			if files[to] == nil {
				t.Errorf("%s leads to %s, which is not there", name, m[1])
			} else if anchor != "" && !ids[to+"#"+anchor] {
				t.Errorf("%s leads to %s, which has no such anchor", name, m[1])
			}
		}
	}
	if followed < 1000 {
		t.Errorf("%d links", followed)
	}
}

// TestNothingFromElsewhere: no page loads anything from another host, nor has a script in its text.
func TestNothingFromElsewhere(t *testing.T) {
	loads := regexp.MustCompile(`<(?:script|link|img|iframe|object|source)[^>]*(?:src|href)="(?:[a-z]+:)?//`)
	for name, content := range project(t) {
		if m := loads.Find(content); path.Ext(name) == ".html" && m != nil {
			t.Errorf("%s loads %s", name, m)
		}
		if path.Ext(name) == ".css" && (bytes.Contains(content, []byte("url(")) || bytes.Contains(content, []byte("@import"))) {
			t.Errorf("%s loads something", name)
		}
	}
}

// TestWhatIsRefused: what would be wrong on the site fails, with the page and what is wrong there.
func TestWhatIsRefused(t *testing.T) {
	good := map[string]string{"README.md": "# A\n\n[docs](docs/README.md)\n", "docs/README.md": "# B\n\n## Start\n\n[c](c.md)\n", "docs/c.md": "# C\n"}
	for _, c := range []struct{ name, file, text, want string }{
		{"nothing wrong", "docs/c.md", "# C\n\n[b](README.md#start)\n", ""},
		{"a link to nothing", "docs/c.md", "# C\n\n[d](d.md)\n", "docs/c.md: links to d.md, which does not exist"},
		{"a link out of the project", "docs/c.md", "# C\n\n[d](../../d.md)\n", "docs/c.md: links to ../../d.md, which does not exist"},
		{"an anchor of nothing", "docs/c.md", "# C\n\n[b](README.md#begin)\n", "docs/c.md: links to README.md#begin, and that page has no such heading"},
		{"an anchor of nothing here", "docs/c.md", "# C\n\n[b](#begin)\n", "docs/c.md: links to #begin, and that page has no such heading"},
		{"a page that nobody finds", "docs/d.md", "# D\n", "docs/d.md is not in the navigation"},
		{"a picture from elsewhere", "docs/c.md", "# C\n\n![d](https://elsewhere.example/d.png)\n", "docs/c.md: the picture https://elsewhere.example/d.png is not ours"},
		{"a page without a title", "docs/c.md", "C\n", "docs/c.md: does not begin with a title"},
		{"HTML", "docs/c.md", "# C\n\na <b>b</b>\n", "docs/c.md: HTML in Markdown"},
		{"a diagram that nobody draws", "docs/c.md", "# C\n\n```mermaid\npie\n```\n", "docs/c.md: the site draws no pie"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := maps.Clone(good)
			files[c.file] = c.text
			_, err := build(folder(t, files), "/")
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestMarkup: what a page says is shown as it says it.
func TestMarkup(t *testing.T) {
	files, err := build(folder(t, map[string]string{
		"README.md":        "# A\n\n[docs](docs/README.md), [code](x/y.yaml), [folder](x)\n",
		"x/y.yaml":         "a: <b>\n",
		"x/z.go":           "package x\n",
		"docs/README.md":   "# B\n\n## Start\n\n[c](c.md), [d](d/README.md)\n",
		"docs/c.md":        "# C `<i>`\n\n## One & two\n\n| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n\n```sh\na <b>\n```\n",
		"docs/d/README.md": "# D\n",
		"docs/d/1.md":      "# One of D\n",
	}), "/farrier/")
	if err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string][]string{
		"index.html":      {`<a href="docs/index.html">docs</a>`, `<a href="x/y.yaml.html">code</a>`, `<a href="x/index.html">folder</a>`},
		"x/y.yaml.html":   {"a: &lt;b&gt;", `<a href="../docs/c.html">C &lt;i&gt;</a>`},
		"x/index.html":    {`<a href="y.yaml.html"><code>y.yaml</code></a>`, "<li><code>z.go</code></li>"},
		"docs/c.html":     {"<title>C &lt;i&gt; · Farrier</title>", `<h2 id="one--two">`, `<td data-label="b">2</td>`, "<pre tabindex=\"0\"><code>a &lt;b&gt;\n</code></pre>"},
		"docs/d/1.html":   {`<a href="1.html" aria-current="page">One of D</a>`, `<link rel="stylesheet" href="../../site.css">`},
		"404.html":        {`href="/farrier/site.css"`, `href="/farrier/docs/c.html"`},
		"search-index.js": {`{"u":"docs/c.html#one--two","t":"C \u003ci\u003e","h":"One \u0026 two","x":"a b c 1 2 3 a \u003cb\u003e "}`},
	} {
		for _, want := range wants {
			if !strings.Contains(string(files[name]), want) {
				t.Errorf("%s lacks %s:\n%s", name, want, files[name])
			}
		}
	}
}

// TestTheFolderOfTheSite: a site is replaced as a whole, and nothing else is.
func TestTheFolderOfTheSite(t *testing.T) {
	root := folder(t, map[string]string{"README.md": "# A\n", "docs/README.md": "# B\n"})
	out := filepath.Join(t.TempDir(), "site")
	if err := run(root, out, "/"); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(out, "gone.html")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(root, out, "/"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("a page of an earlier site is still there")
	}
	if err := run(root, root, "/"); err == nil {
		t.Error("a folder with other files was replaced")
	}
}

// TestContrast: text is readable on what is behind it, in light and in dark (WCAG 2.2, success criterion 1.4.3: 4.5 to 1).
func TestContrast(t *testing.T) {
	css, err := assets.ReadFile("assets/site.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, _ := strings.Cut(string(css), "prefers-color-scheme: dark")
	for theme, text := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]string{}
		for _, m := range regexp.MustCompile(`--([a-z]+): #([0-9a-f]{6});`).FindAllStringSubmatch(text, -1) {
			colours[m[1]] = m[2]
		}
		for _, pair := range []string{"text back", "text panel", "text mark", "quiet back", "quiet panel", "link back", "link panel"} {
			front, back, _ := strings.Cut(pair, " ")
			if ratio := contrast(t, colours[front], colours[back]); ratio < 4.5 {
				t.Errorf("%s: %s on %s: %.2f to 1", theme, front, back, ratio)
			}
		}
	}
}

// contrast is that of WCAG: the relation of two luminances.
func contrast(t *testing.T, one, two string) float64 {
	t.Helper()
	luminance := func(colour string) float64 {
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			if len(colour) != 6 {
				t.Fatalf("no colour: %q", colour)
			}
			value, err := strconv.ParseUint(colour[2*i:2*i+2], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			c := float64(value) / 255
			if c <= 0.04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	a, b := luminance(one)+0.05, luminance(two)+0.05
	return max(a/b, b/a)
}

// folder is a project with these files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", name, err))
		}
	}
	return root
}

// Command site renders README.md, docs/ and what they link to as static HTML: `make site` writes dist/site. The site needs no server, no JavaScript and nothing
// from elsewhere; a script of its own adds a search.
//
// tree.go reads the pages, beginning at README.md, and follows their links. page.go reads one page: its title, headings and text. navigation.go takes the order
// of the pages from docs/README.md. links.go leads links to the pages of the site, and finds those that lead nowhere. render.go writes HTML, with what assets/
// has; source.go shows files and folders that are no Markdown, search.go makes the index of the search.
//
// The same files give the same bytes.
package main

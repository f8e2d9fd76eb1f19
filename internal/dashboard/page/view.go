package page

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
)

//go:embed templates
var templateFiles embed.FS

//go:embed assets
var assetFiles embed.FS

// Assets are the files that pages load beside those of others: style.css and dashboard.js.
var Assets = sub(assetFiles, "assets")

func sub(files fs.FS, dir string) fs.FS {
	s, err := fs.Sub(files, dir)
	if err != nil { // for an invalid name alone
		return files
	}
	return s
}

var templates = template.Must(template.New("").Funcs(words).ParseFS(templateFiles, "templates/*.html"))

// View is what a page shows.
type View struct {
	// Title names the page, and Section is the entry of the navigation that it belongs to.
	Title, Section string
	// Status is that of the answer.
	Status int
	// Live says that the page changes with what it shows, and Terminal that it has one.
	Live, Terminal bool

	template string
	data     any
}

func view(title, section, name string, data any) View {
	return View{Title: title, Section: section, Status: http.StatusOK, Live: true, template: name, data: data}
}

// Shell is what stands around every page, and what its forms need.
type Shell struct {
	// Path is that of the page with its query, and Person who looks; empty: nobody has signed in.
	Path, Person string
	// CSRF is what forms send as "csrf".
	CSRF string
	// Live is where events are streamed from; empty: nowhere.
	Live string
	// StyleNonce is what styles carry that a terminal makes; empty: there is none.
	StyleNonce string
	// Asset is the URL of an asset; nil: /dashboard/assets/NAME.
	Asset func(name string) string
	// Offline says that the Kubernetes API does not answer, and what is shown may be old.
	Offline bool
	// Notice is what came of an act, and Bad that it failed.
	Notice string
	Bad    bool
}

// shown is what templates see.
type shown struct {
	Shell
	View View
	Data any
	Menu []entry
}

// entry is one of the navigation.
type entry struct{ Section, Path, Name string }

var menu = []entry{
	{"overview", "/dashboard/", "Overview"},
	{"servers", "/dashboard/servers", "Servers"},
	{"claims", "/dashboard/claims", "Claims"},
	{"images", "/dashboard/images", "Images"},
	{"bmcs", "/dashboard/bmcs", "BMCs"},
	{"rollouts", "/dashboard/rollouts", "Rollouts"},
	{"unknown", "/dashboard/unknown", "Unknown"},
}

// URL is that of an asset.
func (s shown) URL(name string) string {
	if s.Asset == nil {
		return "/dashboard/assets/" + name
	}
	return s.Asset(name)
}

// Main draws what stands in <main>.
func (s shown) Main() (template.HTML, error) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, s.View.template+".html", s); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil //nolint:gosec // html/template has made it
}

// Write draws the whole page.
func Write(w io.Writer, shell Shell, v View) error {
	return draw(w, "layout.html", shown{shell, v, v.data, menu})
}

// WriteMain draws what stands in <main> alone.
func WriteMain(w io.Writer, shell Shell, v View) error {
	return draw(w, "main.html", shown{shell, v, v.data, menu})
}

// draw writes nothing of a page that cannot be drawn.
func draw(w io.Writer, name string, s shown) error {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, s); err != nil {
		return fmt.Errorf("draw page %q: %w", s.View.Title, err)
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("write page %q: %w", s.View.Title, err)
	}
	return nil
}

package importer

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares what an import has made with files.
func golden(t *testing.T, name string, r *Result) {
	t.Helper()
	manifests, err := r.YAML()
	if err != nil {
		t.Fatal(err)
	}
	var notes strings.Builder
	for _, n := range r.Notes {
		notes.WriteString(n.String() + "\n")
	}
	for file, got := range map[string]string{name + ".yaml": string(manifests), name + ".notes": notes.String()} {
		file = filepath.Join("testdata", "golden", file)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

func TestMatchbox(t *testing.T) {
	for name, o := range map[string]Options{
		"matchbox":        {Namespace: "default"},
		"matchbox-assets": {Namespace: "site", AssetsURL: "http://files.example/assets/"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Matchbox(os.DirFS("testdata/matchbox"), o)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name, r)
		})
	}
}

func TestMatchboxOfSomethingElse(t *testing.T) {
	if _, err := Matchbox(fstest.MapFS{"README": {}}, Options{}); err == nil {
		t.Error("a folder without groups and profiles was imported")
	}
}

func TestManifests(t *testing.T) {
	content, err := os.ReadFile("testdata/manifests/later.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Manifests([]File{{Name: "later.yaml", Content: content}}, Options{Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "later", r)
}

func TestManifestsOfNothing(t *testing.T) {
	if _, err := Manifests([]File{{Name: "empty.yaml"}}, Options{}); err == nil {
		t.Error("nothing was imported")
	}
}

func TestKeyOf(t *testing.T) {
	for path, want := range map[string]string{
		".data.key": "key", `.data.tls\.crt`: "tls.crt", ".data.'client.key'": "client.key", "{.data['a b']}": "a b",
		".spec.x": "", "": "", ".data": "", ".data.a.b": "",
	} {
		if got, err := keyOf(path); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
}

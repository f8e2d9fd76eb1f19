package importer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/farrier-dev/farrier/test/golden"
)

// checkResult compares what an import has made with files.
func checkResult(t *testing.T, name string, r *Result) {
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
		golden.Equal(t, filepath.Join("testdata", "golden", file), got)
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
			checkResult(t, name, r)
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
	checkResult(t, "later", r)
}

func TestManifestsOfNothing(t *testing.T) {
	if _, err := Manifests([]File{{Name: "empty.yaml"}}, Options{}); err == nil {
		t.Error("nothing was imported")
	}
}

// TestMatchboxOfItsOwnExample: what matchbox's own documentation has, with its server in every argument.
func TestMatchboxOfItsOwnExample(t *testing.T) {
	files := fstest.MapFS{
		"groups/default.json": {Data: []byte(`{"id": "default", "profile": "coreos/stable"}`)},
		"groups/old/x.json":   {Data: []byte(`{"id": "x", "profile": "coreos/stable"}`)},
		"profiles/coreos/stable.json": {Data: []byte(`{"id": "stable", "boot": {"kernel": "/assets/coreos/kernel", "initrd": ["--name main http://matchbox.example.com:8080/assets/coreos/initramfs.img"],
			"args": ["initrd=main", "coreos.live.rootfs_url=http://matchbox.example.com:8080/assets/coreos/rootfs.img", "coreos.inst.ignition_url=http://matchbox.example.com:8080/ignition?uuid=${uuid}"]},
			"ignition_id": "i.ign"}`)},
		"profiles/coreos/unused.json": {Data: []byte(`{}`)},
		"ignition/i.ign":              {Data: []byte(`{"ignition": {"version": "3.3.0"}}`)},
	}
	r, err := Matchbox(files, Options{Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, "matchbox-example", r)
	if r, err = Matchbox(files, Options{Namespace: "default", AssetsURL: "http://files.example/a"}); err != nil {
		t.Fatal(err)
	}
	checkResult(t, "matchbox-example-assets", r)
}

// TestManifestsOfTheSameGroup in a later version's words come out in ours.
func TestManifestsOfTheSameGroup(t *testing.T) {
	content, err := os.ReadFile("testdata/manifests/same-group.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Manifests([]File{{Name: "same-group.yaml", Content: content}}, Options{Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, "same-group", r)
}

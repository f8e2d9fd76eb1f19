package importer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

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

// TestManifests: what becomes of the objects of later versions of the iPXE API, of metal-operator and of boot-operator, and what is said of mistakes.
func TestManifests(t *testing.T) {
	for _, name := range []string{"later", "same-group", "operators", "mistaken"} {
		t.Run(name, func(t *testing.T) {
			content, err := os.ReadFile("testdata/manifests/" + name + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			checkResult(t, name, Manifests([]File{{Name: name + ".yaml", Content: content}}, Options{Namespace: "default"}))
		})
	}
}

// TestFilesOfNothing: each is named, with the kinds in it.
func TestFilesOfNothing(t *testing.T) {
	r := Manifests([]File{
		{Name: "empty.yaml"},
		{Name: "values.yaml", Content: []byte("replicas: 3\n")},
		{Name: "app.yaml", Content: []byte("{apiVersion: apps/v1, kind: Deployment}\n---\n{apiVersion: v1, kind: Service}\n---\n{apiVersion: v1, kind: Service}\n")},
	}, Options{})
	want := []string{
		"foreign: app.yaml: nothing in it that Farrier knows: 1 Deployment.apps, 2 Service",
		"foreign: empty.yaml: nothing in it that Farrier knows: no object with a kind",
		"foreign: values.yaml: nothing in it that Farrier knows: no object with a kind",
	}
	var got []string
	for _, n := range r.Notes {
		got = append(got, n.String())
	}
	if diff := cmp.Diff(want, got); diff != "" || !r.Empty() {
		t.Errorf("nothing was imported: %v; notes (-want +got):\n%s", r.Empty(), diff)
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

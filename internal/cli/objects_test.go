package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
)

func profileManifest(name string) string {
	return "apiVersion: ipxe.cloud.alexandre.mahdhaoui.com/v1alpha1\nkind: Profile\nmetadata: {name: " + name + "}\nspec: {ipxe: '#!ipxe'}\n"
}

func TestReadObjects(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.yaml", profileManifest("a")+"---\n---\nkind: Deployment\napiVersion: apps/v1\n")
	write("below/list.json", `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"ipxe.cloud.alexandre.mahdhaoui.com/v1alpha1","kind":"Profile","metadata":{"name":"b","namespace":"other"},"spec":{"ipxe":"#!ipxe"}}]}`)
	write("notes.txt", "no manifest")
	o, err := readObjects([]string{dir, "-"}, "site", strings.NewReader(profileManifest("c")))
	if err != nil {
		t.Fatal(err)
	}
	for name, namespace := range map[string]string{"a": "site", "b": "other", "c": "site"} {
		if err := o.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &ipxev1.Profile{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var list ipxev1.ProfileList
	if err := o.List(t.Context(), &list, client.InNamespace("site")); err != nil || len(list.Items) != 2 {
		t.Errorf("%d in the namespace, want 2 (%v)", len(list.Items), err)
	}
}

func TestBadManifests(t *testing.T) {
	for name, tc := range map[string]struct{ manifest, want string }{
		"no YAML":       {"a: [", "-: document 1"},
		"unknown field": {profileManifest("a") + "specs: {}\n", `unknown field "specs"`},
		"no name":       {profileManifest(`""`), "metadata.name: required"},
		"twice":         {profileManifest("a") + "---\n" + profileManifest("a"), "document 2: Profile default/a is there twice"},
		"in a list":     {"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Secret, metadata: {}}]\n", "items[0]: Secret: metadata.name: required"},
	} {
		if _, err := readObjects([]string{"-"}, "default", strings.NewReader(tc.manifest)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

package charttest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/farrier-dev/farrier/hack/charttest/bases"
	"github.com/farrier-dev/farrier/hack/charttest/chart"
)

// TestBasesAreGenerated: config/kustomize is what make generate writes.
func TestBasesAreGenerated(t *testing.T) {
	files, err := bases.Files(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(configDir, name)); err != nil || string(got) != string(want) {
			t.Errorf("config/%s is not what the chart renders: run make generate (%v)", name, err)
		}
	}
	found, err := filepath.Glob(filepath.Join(configDir, "kustomize", "*", "*"))
	if err != nil || len(found) != len(files)-1 { // one is in config/crd
		t.Errorf("%d files, %d are generated (%v): %v", len(found), len(files)-1, err, found)
	}
}

// built is what kustomize makes of a folder.
func built(t *testing.T, folder string) map[string]map[string]any {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]map[string]any{}
	for _, r := range resources.Resources() {
		o, err := r.Map()
		if err != nil {
			t.Fatal(err)
		}
		made[r.GetKind()+"/"+r.GetName()] = o
	}
	return made
}

// TestBases: kustomize builds each base, and what it builds is what Helm installs, but for the namespace, which Helm makes by itself.
func TestBases(t *testing.T) {
	const cert = "certs: {mode: self}\n"
	release := chart.Release{Dir: chartDir, Name: "farrier", Namespace: bases.Namespace, Has: chartutil.VersionSet{"v1", "cert-manager.io/v1", "monitoring.coreos.com/v1"}}
	for base, values := range map[string]string{"manager": cert, "boot-servers": cert + "bootServers: {enabled: true}"} {
		documents, _, err := release.Render(values)
		if err != nil {
			t.Fatal(err)
		}
		got := built(t, filepath.Join(configDir, "kustomize", base))
		if got["Namespace/"+bases.Namespace] == nil {
			t.Errorf("%s: no namespace", base)
		}
		delete(got, "Namespace/"+bases.Namespace)
		for _, document := range documents {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
				t.Fatal(err)
			}
			key := o.GetKind() + "/" + o.GetName()
			if o.GetKind() == "CustomResourceDefinition" { // config/crd has neither labels nor the annotation for Helm
				if got[key] == nil {
					t.Errorf("%s lacks %s", base, key)
				}
			} else if diff := cmp.Diff(asRead(t, bases.Plain(o).Object), asRead(t, got[key])); diff != "" {
				t.Errorf("%s: %s, - Helm, + kustomize:\n%s", base, key, diff)
			}
			delete(got, key)
		}
		for key := range got {
			t.Errorf("%s has %s, which Helm does not install", base, key)
		}
	}
	for base, kinds := range map[string]string{
		"monitoring": "ClusterRoleBinding/farrier-metrics-readers ConfigMap/farrier-dashboard PrometheusRule/farrier ServiceMonitor/farrier-manager", "network-policies": "NetworkPolicy/farrier-manager",
	} {
		var got []string
		for key := range built(t, filepath.Join(configDir, "kustomize", base)) {
			got = append(got, key)
		}
		if slices.Sort(got); strings.Join(got, " ") != kinds {
			t.Errorf("%s has %v, want %s", base, got, kinds)
		}
	}
}

// asRead is an object as YAML has it, in which whole numbers have one type.
func asRead(t *testing.T, o map[string]any) (read map[string]any) {
	t.Helper()
	text, err := yaml.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

package chart

import (
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

// A Release is what Helm is told beside the values.
type Release struct {
	// Dir is the folder of the chart.
	Dir             string
	Name, Namespace string
	// Has are the APIs of the cluster.
	Has chartutil.VersionSet
	// Cluster is asked by `lookup`; nil: as `helm template`, which asks none.
	Cluster engine.ClientProvider
}

// Render returns the texts of objects, in the order of their templates, and the notes. The values are those of a file of -f.
func (r Release) Render(values string) (objects []string, notes string, err error) {
	chart, err := loader.Load(r.Dir)
	if err != nil {
		return nil, "", err
	}
	user := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &user); err != nil {
		return nil, "", err
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.APIVersions = r.Has
	all, err := chartutil.ToRenderValues(chart, user, chartutil.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true}, capabilities)
	if err != nil {
		return nil, "", err
	}
	var files map[string]string
	if r.Cluster != nil {
		files, err = engine.RenderWithClientProvider(chart, all, r.Cluster)
	} else {
		files, err = engine.Engine{Strict: true}.Render(chart, all)
	}
	if err != nil {
		return nil, "", err
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(path, "NOTES.txt") {
			notes = files[path]
			continue
		}
		for document := range strings.SplitSeq(files[path], "\n---\n") {
			if document = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(document), "---")); document != "" {
				objects = append(objects, document)
			}
		}
	}
	return objects, notes, nil
}

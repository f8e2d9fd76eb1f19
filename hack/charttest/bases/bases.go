package bases

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/farrier-dev/farrier/hack/charttest/chart"
)

// Namespace is that of all bases. Names in certificates and flags have it, so a transformer of kustomize cannot change it.
const Namespace = "farrier-system"

// A base is a folder of config/kustomize.
type base struct {
	name, about, values string
	// adds leaves out what the first base has: this one goes beside it.
	adds bool
}

// certificates of the webhooks come from the managers: kustomize cannot ask a cluster whether it has cert-manager.
const certificates = "certs: {mode: self}\n"

var all = []base{
	{name: "manager", about: "Two managers, kinds, roles and webhooks, with the defaults of the chart.", values: certificates},
	{
		name: "boot-servers", about: "As ../manager, and two boot servers behind a Service of type LoadBalancer. Needs cert-manager. Add boot-url to both ConfigMaps.",
		values: certificates + "bootStream: {certs: {mode: cert-manager}}\nbootServers: {enabled: true}\n",
	},
	{
		name: "monitoring", about: "Beside one of the others: ServiceMonitor, alerts and dashboard. Needs the Prometheus operator. The account of Prometheus is prometheus-k8s in the namespace monitoring; patch the ClusterRoleBinding farrier-metrics-readers where it is another.", adds: true,
		values: certificates + "metrics: {serviceMonitor: {enabled: true}, rules: {enabled: true}, readers: [{namespace: monitoring, serviceAccount: prometheus-k8s}]}\ndashboard: {enabled: true}\n",
	},
	{name: "network-policies", about: "Beside ../manager: who may connect to managers.", adds: true, values: certificates + "networkPolicy: {enabled: true}\n"},
}

// Files returns the contents of all files by their paths below config/.
func Files(chartDir string) (map[string][]byte, error) {
	first, err := objects(chartDir, all[0].values)
	if err != nil {
		return nil, err
	}
	files, kinds := map[string][]byte{}, []string{}
	for key, o := range first {
		if o.GetKind() == "CustomResourceDefinition" {
			plural, _, _ := strings.Cut(o.GetName(), ".")
			group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
			kinds = append(kinds, fmt.Sprintf("%s_%s.yaml", group, plural))
			delete(first, key)
		}
	}
	slices.Sort(kinds)
	files["crd/Kustomization"] = kustomization("The kinds. This file has no extension, so that kubectl apply -f config/crd leaves it out.", kinds)
	for _, b := range all {
		made, err := objects(chartDir, b.values)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		maps.DeleteFunc(made, func(key string, o *unstructured.Unstructured) bool {
			return o.GetKind() == "CustomResourceDefinition" || b.adds && first[key] != nil
		})
		// The namespace stands apart, so that who deletes the objects keeps it, with passwords and records.
		resources := []string{"../../crd", "namespace.yaml", "objects.yaml"}
		if b.adds {
			resources = resources[2:]
		} else {
			files[path.Join("kustomize", b.name, "namespace.yaml")] = fmt.Appendf(nil, "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s\n", Namespace)
		}
		if files[path.Join("kustomize", b.name, "objects.yaml")], err = text(made); err != nil {
			return nil, err
		}
		files[path.Join("kustomize", b.name, "kustomization.yaml")] = kustomization(b.about, resources)
	}
	return files, nil
}

// objects are those that the chart renders, without what Helm alone uses.
func objects(chartDir, values string) (map[string]*unstructured.Unstructured, error) {
	release := chart.Release{Dir: chartDir, Name: "farrier", Namespace: Namespace, Has: chartutil.VersionSet{"v1", "apps/v1", "cert-manager.io/v1", "monitoring.coreos.com/v1"}}
	documents, _, err := release.Render(values)
	if err != nil {
		return nil, err
	}
	made := make(map[string]*unstructured.Unstructured, len(documents))
	for _, document := range documents {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			return nil, err
		}
		made[o.GetAPIVersion()+" "+o.GetKind()+" "+o.GetName()] = Plain(o)
	}
	return made, nil
}

// Plain removes from an object what Helm alone uses.
func Plain(o *unstructured.Unstructured) *unstructured.Unstructured {
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	delete(labels, "helm.sh/chart")
	delete(labels, "app.kubernetes.io/managed-by")
	delete(annotations, "helm.sh/resource-policy")
	if o.SetLabels(labels); len(labels) == 0 {
		o.SetLabels(nil)
	}
	if o.SetAnnotations(annotations); len(annotations) == 0 {
		o.SetAnnotations(nil)
	}
	return o
}

// text is objects in the order of their keys.
func text(objects map[string]*unstructured.Unstructured) ([]byte, error) {
	made := []byte("# make generate writes this file of what the Helm chart renders.\n")
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		document, err := yaml.Marshal(objects[key].Object)
		if err != nil {
			return nil, err
		}
		made = append(append(made, "---\n"...), document...)
	}
	return made, nil
}

func kustomization(about string, resources []string) []byte {
	return fmt.Appendf(nil, "# %s\n# make generate writes this file.\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- %s\n", about, strings.Join(resources, "\n- "))
}

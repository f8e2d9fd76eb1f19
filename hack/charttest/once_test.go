package charttest

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"

	"github.com/farrier-dev/farrier/hack/charttest/chart"
)

// A cluster answers `lookup` with what is in it.
type cluster struct{ objects dynamic.Interface }

// GetClientFor implements engine.ClientProvider.
func (c cluster) GetClientFor(string, string) (dynamic.NamespaceableResourceInterface, bool, error) {
	return c.objects.Resource(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}), false, nil
}

// installed is a cluster in which Farrier is installed in a namespace; annotations are those that Helm leaves.
func installed(namespace string, annotations map[string]any) cluster {
	binding := map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": "farrier-manager", "annotations": annotations},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "farrier-manager", "namespace": namespace}},
	}
	return cluster{fake.NewSimpleDynamicClient(runtime.NewScheme(), &unstructured.Unstructured{Object: binding})}
}

// TestOneFarrierToACluster: a second one would act on the same BMCs. It is refused wherever the first one is, however it was installed.
func TestOneFarrierToACluster(t *testing.T) {
	release := func(name string) map[string]any { return map[string]any{"meta.helm.sh/release-name": name} }
	for what, test := range map[string]struct {
		has     cluster
		values  string
		refused string
	}{
		"nothing":                   {cluster{fake.NewSimpleDynamicClient(runtime.NewScheme())}, "", ""},
		"itself, for an upgrade":    {installed(namespace, release("farrier")), "", ""},
		"itself, by kubectl apply":  {installed(namespace, nil), "", ""},
		"another namespace":         {installed("elsewhere", release("farrier")), "", "in the namespace elsewhere of this cluster"},
		"another one by kubectl":    {installed("farrier-system", nil), "", "in the namespace farrier-system of this cluster"},
		"another release beside it": {installed(namespace, release("second")), "", "as the release second in this namespace"},
		"with objects of its own":   {installed("elsewhere", release("farrier")), "watchFilter: hall-1", ""},
	} {
		_, _, err := decoded(chart.Release{Dir: chartDir, Name: "farrier", Namespace: namespace, Has: withCertManager, Cluster: test.has}, test.values)
		switch {
		case test.refused == "" && err != nil:
			t.Errorf("%s: %v", what, err)
		case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused) || !strings.Contains(err.Error(), "an uninstallation keeps all objects")):
			t.Errorf("%s: the error does not have %q: %v", what, test.refused, err)
		}
	}
}

// TestOldKubernetes: Helm refuses a cluster that cannot check the definitions, before it applies anything.
func TestOldKubernetes(t *testing.T) {
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	for version, fits := range map[string]bool{"v1.29.14": false, "v1.29.9-eks-1": false, "v1.30.0": true, "v1.30.5-gke.1000": true, "v1.36.3": true, "v2.0.0": true} {
		if got := chartutil.IsCompatibleRange(c.Metadata.KubeVersion, version); got != fits {
			t.Errorf("%s with %s: %v, want %v", c.Metadata.KubeVersion, version, got, fits)
		}
	}
}

package cluster

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
	"github.com/farrier-dev/farrier/test/product"
)

// former are the definitions of an earlier version, which a test upgrades from.
const former = "testdata/crd-2026-11-20"

// definitions counts the definitions of Farrier's kinds in a folder.
func definitions(t *testing.T, folder string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no definitions (%v)", folder, err)
	}
	return len(files)
}

// formerChart is this chart with the definitions of an earlier version.
func formerChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "farrier")
	if err := testapi.CopyTree(dir, chart); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "files/crd")); err != nil {
		t.Fatal(err)
	}
	if err := testapi.CopyTree(filepath.Join(dir, "files/crd"), former); err != nil {
		t.Fatal(err)
	}
	return dir
}

// withLaterKinds adds the definitions of kinds that the former chart did not have. Its manager did not need them; today's, which stands in for that, does.
func withLaterKinds(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chart, "files/crd", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		to := filepath.Join(dir, "files/crd", filepath.Base(file))
		if _, err := os.Stat(to); err == nil {
			continue
		}
		content, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(to, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// crds are the definitions in the cluster.
func (c *cluster) crds() []unstructured.Unstructured {
	c.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("apiextensions.k8s.io/v1")
	list.SetKind("CustomResourceDefinitionList")
	if err := c.List(c.t.Context(), list); err != nil {
		c.t.Fatal(err)
	}
	return list.Items
}

// served waits until the API serves all kinds: a manager that comes earlier ends, and its pod is started again.
func (c *cluster) served() {
	c.t.Helper()
	for _, definition := range c.crds() {
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(group + "/v1alpha1")
		list.SetKind(kind + "List")
		product.Eventually(c.t, kind+" is served", func(ctx context.Context) error { return c.List(ctx, list) })
	}
}

// TestReleases: a release of the chart with earlier definitions is upgraded, rolled back, upgraded again and uninstalled; the definitions follow, and objects
// outlive everything.
func TestReleases(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.helm("install", "farrier", formerChart(t), "--create-namespace")
	c.served()
	server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	server.Spec.SystemUUID = "5e1f0000-0000-4000-8000-00000000c1a5"
	if err := c.Create(t.Context(), server); err != nil {
		t.Fatal(err)
	}
	generations := func() (sum int64) {
		for _, definition := range c.crds() {
			sum += definition.GetGeneration()
		}
		return sum
	}
	installed := generations()
	c.helm("upgrade", "farrier", chart)
	upgraded := generations()
	if upgraded <= installed {
		t.Error("the upgrade leaves the definitions as they were")
	}
	c.helm("upgrade", "farrier", chart)
	if again := generations(); again != upgraded {
		t.Error("an upgrade to the same version changes definitions")
	}
	c.helm("rollback", "farrier", "1")
	if generations() <= upgraded {
		t.Error("the rollback leaves the definitions as they were")
	}
	c.helm("upgrade", "farrier", chart)
	c.helm("uninstall", "farrier")
	if got, want := len(c.crds()), definitions(t, "../../config/crd"); got != want {
		t.Errorf("%d definitions after the uninstallation, want %d", got, want)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(server), &metalv1.Server{}); err != nil {
		t.Errorf("an object of ours after the uninstallation: %v", err)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "farrier-manager"}, &corev1.ServiceAccount{}); !apierrors.IsNotFound(err) {
		t.Errorf("the account of the manager after the uninstallation: %v", err)
	}
	c.helm("install", "farrier", chart)
}

// TestRefusedReleases: what Helm or the API server refuses leaves nothing behind, and the reason is said.
func TestRefusedReleases(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nobody"}}
	if err := c.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	nobody := c.accountConfig(account.Namespace, account.Name)
	for name, r := range map[string]struct {
		kubeconfig string
		args, says []string
	}{
		"values":            {c.api.Kubeconfig(), []string{"--set", "replicas=0"}, []string{"replicas"}},
		"a misspelt value":  {c.api.Kubeconfig(), []string{"--set", "replica=2"}, []string{"replica"}},
		"no cert-manager":   {c.api.Kubeconfig(), []string{"--set", "certs.mode=cert-manager"}, []string{"cert-manager.io/v1", "Certificate"}},
		"no rights":         {nobody, nil, []string{"forbidden", "system:serviceaccount:default:nobody"}},
		"nobody is there":   {c.kubeconfig("https://127.0.0.1:1", "none"), nil, []string{"127.0.0.1:1"}},
		"an old Kubernetes": {c.api.Kubeconfig(), []string{"--dry-run=client", "--kube-version=1.29.0"}, []string{"1.30"}},
	} {
		args := append([]string{"install", "farrier", chart, "--create-namespace"}, r.args...)
		if name == "an old Kubernetes" {
			args = append([]string{"template", "farrier", chart}, r.args...)
		}
		_, err := c.tryHelm(r.kubeconfig, args...)
		for _, says := range r.says {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: the error does not say %q: %v", name, says, err)
			}
		}
		if found := c.crds(); len(found) > 0 {
			t.Fatalf("%s: %d definitions are left", name, len(found))
		}
	}
}

// TestOneToACluster: a second installation is refused, in another namespace and in the same.
func TestOneToACluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.install()
	for _, args := range [][]string{
		{"install", "farrier", chart, "--create-namespace", "--namespace", "elsewhere"},
		{"install", "another", chart},
		{"install", "farrier", chart, "--create-namespace", "--namespace", "elsewhere", "--set", "crds.install=false"},
	} {
		if _, err := c.tryHelm(c.api.Kubeconfig(), args...); err == nil || !strings.Contains(err.Error(), "Farrier is installed") {
			t.Errorf("helm %s: %v", strings.Join(args, " "), err)
		}
	}
}

// TestServerSideApply: the API server takes every object of the chart and of the bases for kustomize as it is, with no field that it does not know, and without a warning that could be helped.
func TestServerSideApply(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.certManager()
	for name, values := range map[string]string{
		"defaults":   "",
		"self":       "certs: {mode: self}",
		"everything": everything,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "values.yaml")
			if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
				t.Fatal(err)
			}
			manifest := c.in(t).helm("template", "farrier", chart, "--values", file, "--api-versions", "cert-manager.io/v1", "--kube-version", "1.36.0")
			objects := parse(t, manifest)
			if len(objects) < 20 {
				t.Fatalf("%d objects only", len(objects))
			}
			c.in(t).applyAll(objects)
		})
	}
	bases, err := filepath.Glob("../../config/kustomize/*/objects.yaml")
	if err != nil || len(bases) < 3 {
		t.Fatalf("bases for kustomize: %v, %v", bases, err)
	}
	for _, base := range bases {
		t.Run(base, func(t *testing.T) {
			text, err := os.ReadFile(base)
			if err != nil {
				t.Fatal(err)
			}
			c.in(t).applyAll(parse(t, string(text)))
		})
	}
}

// ofTheContract is a warning about a field of Servers, whose schema is that of the contract (config/testdata): a format that API servers do not check.
const ofTheContract = `unrecognized format "ip"`

// applyAll applies objects in their order.
func (c *cluster) applyAll(objects []*unstructured.Unstructured) {
	c.t.Helper()
	for _, o := range objects {
		if strings.HasPrefix(o.GetAPIVersion(), "monitoring.coreos.com/") {
			continue // the definitions of Prometheus' operator are not here
		}
		if o.GetNamespace() != "" {
			c.namespace(o.GetNamespace())
		}
		if err := c.apply(o); err != nil {
			c.t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
		if said := slices.DeleteFunc(c.warnings.heard(), func(text string) bool { return text == ofTheContract }); len(said) > 0 {
			c.t.Errorf("%s %s: the API server warns: %v", o.GetKind(), o.GetName(), said)
		}
	}
}

// everything switches on what the defaults leave out.
const everything = `
replicas: 1
boot: {https: true, service: {enabled: true}}
data: {kind: claim}
credentialNamespaces: [rack-1]
bootServers: {enabled: true}
config: {boot-url: ["http://192.0.2.1:8082"]}
`

func (c *cluster) namespace(name string) {
	c.t.Helper()
	if err := c.Create(c.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil && !apierrors.IsAlreadyExists(err) {
		c.t.Fatal(err)
	}
}

// apply applies an object on the server's side. A definition takes a moment until its kind is served.
func (c *cluster) apply(o *unstructured.Unstructured) error {
	return c.Apply(c.t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("test"), client.ForceOwnership)
}

// certManager installs the definitions of cert-manager.
func (c *cluster) certManager() {
	c.t.Helper()
	folder := os.Getenv("FARRIER_TEST_CERTMANAGER")
	if folder == "" {
		c.t.Skip("FARRIER_TEST_CERTMANAGER names no definitions of cert-manager: make acceptance sets it")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		c.t.Fatalf("%s: no definitions (%v)", folder, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, o := range parse(c.t, string(text)) {
			if err := c.apply(o); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	product.Eventually(c.t, "cert-manager's kinds are served", func(ctx context.Context) error {
		for _, kind := range []string{"CertificateList", "IssuerList"} {
			list := &unstructured.UnstructuredList{}
			list.SetAPIVersion("cert-manager.io/v1")
			list.SetKind(kind)
			if err := c.List(ctx, list); err != nil {
				return err
			}
		}
		return nil
	})
}

// parse reads the documents of a manifest.
func parse(t *testing.T, manifest string) (objects []*unstructured.Unstructured) {
	t.Helper()
	for document := range strings.SplitSeq("\n"+manifest, "\n---") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
	return objects
}

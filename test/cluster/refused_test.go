package cluster

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/test/certificate"
	"github.com/farrier-dev/farrier/test/product"
)

// TestManagerRefused: what keeps a manager from running in a cluster ends it with a sentence that says what to do.
func TestManagerRefused(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.install()
	account := c.accountConfig(namespace, "farrier-manager")
	c.namespace("nobody")
	if err := c.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "nobody", Name: "nobody"}}); err != nil {
		t.Fatal(err)
	}
	token := c.connect(account).BearerToken
	for name, r := range map[string]struct {
		kubeconfig, namespace string
		says                  []string
	}{
		"no such namespace": {account, "nowhere", []string{"--manager-namespace", `"nowhere" does not exist`}},
		"another authority": {c.kubeconfigOfAnother(token), namespace, []string{"Kubernetes API at https://", "certificate"}},
		"no token":          {c.kubeconfig(c.api.RESTConfig().Host, "made-up"), namespace, []string{"Kubernetes API at https://", "Unauthorized"}},
		"no rights":         {c.accountConfig("nobody", "nobody"), namespace, []string{"forbidden", "system:serviceaccount:nobody:nobody", "farrier-keys"}},
	} {
		if log := c.refused(r.kubeconfig, r.namespace); slices.ContainsFunc(r.says, func(says string) bool { return !strings.Contains(log, says) }) {
			t.Errorf("%s: the manager does not say %q:\n%s", name, r.says, log)
		}
	}

	// One that finds nobody waits, and says for whom.
	waiting := product.Run(t, product.Manager, "waiting", nil, c.alone(c.kubeconfig("https://127.0.0.1:1", "none"), namespace)...)
	t.Cleanup(waiting.Kill)
	product.Eventually(t, "the manager waits for the API", func(context.Context) error {
		if log := waiting.Log(); !strings.Contains(log, "waiting for the Kubernetes API") || !strings.Contains(log, "127.0.0.1:1") {
			return fmt.Errorf("it says %q", log)
		}
		return nil
	})

	// A definition is missing.
	definition := &unstructured.Unstructured{}
	definition.SetAPIVersion("apiextensions.k8s.io/v1")
	definition.SetKind("CustomResourceDefinition")
	definition.SetName("bmcs.metal.ironcore.dev")
	if err := c.Delete(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	product.Eventually(t, "the kind is gone", func(ctx context.Context) error {
		if err := c.List(ctx, &metalv1.BMCList{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is served: %w", err)
		}
		return nil
	})
	if log := c.refused(account, namespace); !strings.Contains(log, "missing CRDs: bmcs.metal.ironcore.dev; apply config/crd") {
		t.Errorf("without a definition the manager says:\n%s", log)
	}
}

// alone are the flags of a manager that needs nothing but an API.
func (c *cluster) alone(kubeconfig, namespace string) []string {
	return []string{"--kubeconfig", kubeconfig, "--manager-namespace", namespace, "--data-dir", c.t.TempDir(), "--health-address", "", "--boot-address", "127.97.255.1:8082"}
}

// refused runs a manager that cannot work and returns what it said.
func (c *cluster) refused(kubeconfig, namespace string) string {
	c.t.Helper()
	p := product.Run(c.t, product.Manager, "refused", nil, c.alone(kubeconfig, namespace)...)
	c.t.Cleanup(p.Kill)
	if p.Wait() == nil {
		c.t.Error("the manager ended well")
	}
	return p.Log()
}

// kubeconfigOfAnother is one that trusts another authority than that of the API server.
func (c *cluster) kubeconfigOfAnother(token string) string {
	c.t.Helper()
	path := c.kubeconfig(c.api.RESTConfig().Host, token)
	text, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	other := filepath.Join(c.t.TempDir(), "kubeconfig")
	ours := base64.StdEncoding.EncodeToString(c.api.RESTConfig().CAData)
	theirs := base64.StdEncoding.EncodeToString(certificate.SelfSigned(c.t, func(*x509.Certificate) {}).Cert)
	if err := os.WriteFile(other, []byte(strings.ReplaceAll(string(text), ours, theirs)), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return other
}

// TestOneManagerToACluster: managers of another namespace do not run while those of the first installation may.
func TestOneManagerToACluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.install()
	first := c.manage()
	first.ready()
	c.namespace("elsewhere")
	if err := c.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "farrier-manager"}}); err != nil {
		t.Fatal(err)
	}
	// As somebody does who edits config/manager.
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}}
	binding.Subjects = []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "elsewhere", Name: "farrier-manager"}}
	if err := c.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	elsewhere := c.accountConfig("elsewhere", "farrier-manager")
	if log := c.refused(elsewhere, "elsewhere"); !strings.Contains(log, `another Farrier is installed in the namespace "bare-metal"`) || !strings.Contains(log, "--manager-namespace bare-metal") {
		t.Errorf("a second installation says:\n%s", log)
	}
	// A younger Secret of that name, which a tenant may have made, keeps nobody from running.
	if err := c.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "farrier-keys"}}); err != nil {
		t.Fatal(err)
	}
	second := c.manage()
	second.ready()
	first.stop()
	second.stop()
}

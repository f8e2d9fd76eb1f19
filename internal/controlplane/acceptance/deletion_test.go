package acceptance

import (
	"context"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
)

func TestDeletionCascadesToOwnedObjects(t *testing.T) {
	t.Parallel()
	cfg := testapi.Start(t)
	namespace := testapi.Namespace(t)
	install(t, cfg, definition(widgets, "Widget", apiextensionsv1.NamespaceScoped))
	client, custom := clientset(t, cfg), dynamicClient(t, cfg).Resource(widgets).Namespace(namespace)

	owner := createConfigMap(t, client, namespace, configMap("owner"))
	builtin := createConfigMap(t, client, namespace, configMap("owned", ownedBy(owner, false)))
	bystander := createConfigMap(t, client, namespace, configMap("bystander"))
	widget := object(widgets, "Widget", "owned", nil)
	widget.SetOwnerReferences([]metav1.OwnerReference{ownedBy(owner, false)})
	if _, err := custom.Create(t.Context(), widget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	start := time.Now()
	if err := client.CoreV1().ConfigMaps(namespace).Delete(t.Context(), owner.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "owned configmap goes with its owner", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, builtin.Name, metav1.GetOptions{})
		return gone(err)
	})
	t.Logf("built-in kind collected after %s", time.Since(start))
	eventually(t, "owned custom resource of a kind installed a moment ago goes with its owner", func(ctx context.Context) (bool, error) {
		_, err := custom.Get(ctx, widget.GetName(), metav1.GetOptions{})
		return gone(err)
	})
	t.Logf("new kind collected after %s", time.Since(start))
	if _, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), bystander.Name, metav1.GetOptions{}); err != nil {
		t.Errorf("an object nobody owns: %v", err)
	}
}

func TestForegroundDeletionEnds(t *testing.T) {
	t.Parallel()
	cfg := testapi.Start(t)
	namespace := testapi.Namespace(t)
	client := clientset(t, cfg).CoreV1().ConfigMaps(namespace)
	owner := createConfigMap(t, clientset(t, cfg), namespace, configMap("owner"))
	held := configMap("owned", ownedBy(owner, true))
	held.Finalizers = []string{"test.farrier.dev/hold"}
	owned := createConfigMap(t, clientset(t, cfg), namespace, held)

	foreground := metav1.DeletePropagationForeground
	if err := client.Delete(t.Context(), owner.Name, metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the dependent is deleted first", func(ctx context.Context) (bool, error) {
		found, err := client.Get(ctx, owned.Name, metav1.GetOptions{})
		return err == nil && found.DeletionTimestamp != nil, err
	})
	if _, err := client.Get(t.Context(), owner.Name, metav1.GetOptions{}); err != nil {
		t.Fatalf("the owner waits for its dependent: %v", err)
	}
	release := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := client.Patch(t.Context(), owned.Name, "application/merge-patch+json", release, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the owner goes after its dependent", func(ctx context.Context) (bool, error) {
		_, err := client.Get(ctx, owner.Name, metav1.GetOptions{})
		return gone(err)
	})
}

func TestNamespaceDeletionEnds(t *testing.T) {
	t.Parallel()
	cfg := testapi.Start(t)
	namespace := testapi.Namespace(t)
	install(t, cfg, definition(widgets, "Widget", apiextensionsv1.NamespaceScoped))
	client, custom := clientset(t, cfg), dynamicClient(t, cfg).Resource(widgets).Namespace(namespace)
	createConfigMap(t, client, namespace, configMap("content"))
	if _, err := custom.Create(t.Context(), object(widgets, "Widget", "content", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	start := time.Now()
	if err := client.CoreV1().Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the namespace ends", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		return gone(err)
	})
	t.Logf("namespace ended after %s", time.Since(start))
	if _, err := custom.Get(t.Context(), "content", metav1.GetOptions{}); err == nil {
		t.Error("the namespace ended before its content")
	}
}

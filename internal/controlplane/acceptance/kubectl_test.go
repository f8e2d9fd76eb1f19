package acceptance

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
)

func TestKubectl(t *testing.T) {
	t.Parallel()
	binary, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("kubectl is not in PATH")
	}
	install(t, testapi.Start(t), definition(widgets, "Widget", apiextensionsv1.NamespaceScoped))
	namespace := testapi.Namespace(t)
	home := t.TempDir() // of its discovery cache
	kubectl := func(args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		command := exec.CommandContext(ctx, binary, append([]string{"--kubeconfig", testapi.Kubeconfig(t), "--namespace", namespace}, args...)...)
		command.Env = append(os.Environ(), "HOME="+home, "KUBECACHEDIR="+filepath.Join(home, "cache"))
		output, err := command.CombinedOutput()
		return string(output), err
	}
	must := func(want string, args ...string) {
		t.Helper()
		output, err := kubectl(args...)
		if err != nil || !strings.Contains(output, want) {
			t.Fatalf("kubectl %s: %v, want %q in:\n%s", strings.Join(args, " "), err, want, output)
		}
	}
	manifest := filepath.Join(t.TempDir(), "widget.yaml")
	write := func(color string) {
		t.Helper()
		content := "apiVersion: test.farrier.dev/v1\nkind: Widget\nmetadata:\n  name: one\nspec:\n  color: " + color + "\n"
		if err := os.WriteFile(manifest, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	must("kube-system", "get", "namespaces")
	must("widgets", "api-resources", "--api-group=test.farrier.dev")
	// OpenAPI of a new kind is published a moment after the kind is served.
	eventually(t, "kubectl explain knows the kind", func(context.Context) (bool, error) {
		output, err := kubectl("explain", "widgets")
		return err == nil && strings.Contains(output, "A Widget of a test."), nil
	})
	write("red")
	must("widget.test.farrier.dev/one created", "apply", "-f", manifest)
	must("widget.test.farrier.dev/one unchanged", "apply", "-f", manifest)
	write("blue")
	must("widget.test.farrier.dev/one configured", "apply", "-f", manifest)
	must("blue", "get", "widget", "one", "-o", "jsonpath={.spec.color}")
	write("green")
	must("serverside-applied", "apply", "--server-side", "--force-conflicts", "-f", manifest)
	must("deleted", "delete", "-f", manifest)
	must("yes", "auth", "can-i", "*", "*")
	must("v1.36", "version")
	must("Kubernetes control plane", "cluster-info")
	must("No resources found", "get", "services", "--all-namespaces")
	must("", "wait", "--for=create", "--timeout=60s", "serviceaccount/default")
	must("deleted", "delete", "namespace", namespace) // waits for the end
}

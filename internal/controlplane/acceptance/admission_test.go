package acceptance

import (
	"context"
	"path/filepath"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
)

// TestAdmissionPluginRunsInProcess uses the plugin of testapi/apiserver/plugin.go.
func TestAdmissionPluginRunsInProcess(t *testing.T) {
	t.Parallel()
	process := testapi.Launch(t, "--data-dir", filepath.Join(t.TempDir(), "data"), "--label-rules").MustBeReady(t)
	client := clientset(t, process.RESTConfig())

	repaired := configMap("repaired")
	repaired.Labels = map[string]string{"assignment/ipxe/buildarch": "arm64"} // two slashes: no legal key
	created := createConfigMap(t, client, "default", repaired)
	if got := created.Labels["assignment/ipxe.buildarch"]; got != "arm64" {
		t.Errorf("labels %v, want the repaired key", created.Labels)
	}

	refused := configMap("refused")
	refused.Labels = map[string]string{"test.farrier.dev/refuse": "yes"}
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), refused, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("creating what the plugin refuses: %v, want forbidden", err)
	}
}

func TestAdmissionPolicy(t *testing.T) {
	t.Parallel()
	client := clientset(t, testapi.Start(t))
	namespace := testapi.Namespace(t)
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "no-evil-in-" + namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: "object.metadata.name != 'evil'"}},
		},
	}
	registration := client.AdmissionregistrationV1()
	if _, err := registration.ValidatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        policy.Name,
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	if _, err := registration.ValidatingAdmissionPolicyBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the policy is in force", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, configMap("evil"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsInvalid(err) {
			return true, nil
		}
		return false, err
	})
	createConfigMap(t, client, namespace, configMap("good"))
}

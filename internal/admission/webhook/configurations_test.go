package webhook_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/farrier-dev/farrier/internal/admission"
	"github.com/farrier-dev/farrier/internal/admission/webhook"
)

// configurations reads config/webhook as it is applied to a cluster.
func configurations(t *testing.T) (*admissionregistrationv1.MutatingWebhookConfiguration, *admissionregistrationv1.ValidatingWebhookConfiguration) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "webhook", "configurations.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	mutating, validating, found := bytes.Cut(data, []byte("\n---\n"))
	if !found {
		t.Fatal("want two documents")
	}
	m, v := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := yaml.UnmarshalStrict(mutating, m); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(validating, v); err != nil {
		t.Fatal(err)
	}
	return m, v
}

// asked lists the resources of the rules about some operations, and says when they leave something out.
func asked(t *testing.T, rules []admissionregistrationv1.RuleWithOperations, operations ...admissionregistrationv1.OperationType) []schema.GroupResource {
	t.Helper()
	var found []schema.GroupResource
	for _, rule := range rules {
		stored := slices.Equal(rule.Operations, []admissionregistrationv1.OperationType{"CREATE", "UPDATE"})
		if !stored && !slices.Equal(rule.Operations, []admissionregistrationv1.OperationType{"DELETE"}) || !slices.Equal(rule.APIVersions, []string{"v1alpha1"}) {
			t.Errorf("%v is asked about %v of %v", rule.Resources, rule.Operations, rule.APIVersions)
		}
		if !slices.Equal(rule.Operations, operations) {
			continue
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				found = append(found, schema.GroupResource{Group: group, Resource: resource})
			}
		}
	}
	slices.SortFunc(found, func(a, b schema.GroupResource) int { return bytes.Compare([]byte(a.String()), []byte(b.String())) })
	return found
}

// TestConfigurationsAskAboutEveryRule: a kind with a rule that the API server does not ask about has no rule.
func TestConfigurationsAskAboutEveryRule(t *testing.T) {
	mutating, validating := configurations(t)
	m, v := mutating.Webhooks[0], validating.Webhooks[0]
	if diff := cmp.Diff(admission.Resources(admission.Mutates), asked(t, m.Rules, "CREATE", "UPDATE")); diff != "" {
		t.Errorf("mutating (-rules +config/webhook):\n%s", diff)
	}
	if diff := cmp.Diff(admission.Resources(admission.Validates), asked(t, v.Rules, "CREATE", "UPDATE")); diff != "" {
		t.Errorf("validating (-rules +config/webhook):\n%s", diff)
	}
	if diff := cmp.Diff(admission.Resources(admission.Warns), asked(t, v.Rules, "DELETE")); diff != "" {
		t.Errorf("deleting (-rules +config/webhook):\n%s", diff)
	}
	if *m.ClientConfig.Service.Path != webhook.MutatePath || *v.ClientConfig.Service.Path != webhook.ValidatePath {
		t.Errorf("paths %s and %s", *m.ClientConfig.Service.Path, *v.ClientConfig.Service.Path)
	}
	for name, seconds := range map[string]int32{m.Name: *m.TimeoutSeconds, v.Name: *v.TimeoutSeconds} {
		if float64(seconds) <= admission.Timeout.Seconds() {
			t.Errorf("%s: the API server waits for %d s, and the rules have %s", name, seconds, admission.Timeout)
		}
	}
	if *m.FailurePolicy != admissionregistrationv1.Ignore || *v.FailurePolicy != admissionregistrationv1.Ignore {
		t.Error("a webhook that is away must not keep anybody from writing: docs/dev/decisions says why")
	}
}

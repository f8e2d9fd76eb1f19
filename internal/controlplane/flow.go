package controlplane

import (
	"context"
	"fmt"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/farrier-dev/farrier/internal/controlplane/kubeconfig"
)

// adminPrecedence comes right after that of system:masters, which is 1.
const adminPrecedence = 2

// ensureFlow lets administrators past the queues in which everybody else's requests wait their turn: whoever has to stop a tenant that floods the API
// must not wait behind him. It is made once a start, as the schemas of the API server itself are.
func ensureFlow(ctx context.Context, cfg *rest.Config) error {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("flow of administrators: %w", err)
	}
	everything := []string{flowcontrolv1.ResourceAll}
	schema := &flowcontrolv1.FlowSchema{
		ObjectMeta: metav1.ObjectMeta{Name: "farrier-admins"},
		Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: flowcontrolv1.PriorityLevelConfigurationNameExempt},
			MatchingPrecedence:         adminPrecedence,
			Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects: []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: kubeconfig.Group}}},
				ResourceRules: []flowcontrolv1.ResourcePolicyRule{{
					Verbs: everything, APIGroups: everything, Resources: everything, ClusterScope: true, Namespaces: []string{flowcontrolv1.NamespaceEvery},
				}},
				NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: everything, NonResourceURLs: everything}},
			}},
		},
	}
	if _, err := client.FlowcontrolV1().FlowSchemas().Create(ctx, schema, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("flow of administrators: %w", err)
	}
	return nil
}

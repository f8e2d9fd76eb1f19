package cli

import (
	"cmp"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/farrier-dev/farrier/internal/ownership"
)

// clusterConfig reads the kubeconfig that is named, or else that of $KUBECONFIG or ~/.kube/config, in its context of that name, or
// else its current one.
func clusterConfig(kubeconfig, context string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err != nil {
		return nil, ownership.Explain(cmp.Or(kubeconfig, rules.GetDefaultFilename()), err)
	}
	return config, nil
}

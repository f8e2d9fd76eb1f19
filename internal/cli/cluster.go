package cli

import (
	"errors"
	"io/fs"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/farrier-dev/farrier/internal/host/ownership"
)

// clusterConfig reads the kubeconfig that is named, or else that of $KUBECONFIG or ~/.kube/config, in its context of that name, or
// else its current one.
func clusterConfig(kubeconfig, context string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err == nil {
		return config, nil
	}
	for _, path := range rules.GetLoadingPrecedence() {
		file, denied := os.Open(path) // the loader's error has no other in it
		if errors.Is(denied, fs.ErrPermission) {
			return nil, ownership.Explain(path, denied)
		}
		if denied == nil {
			_ = file.Close()
		}
	}
	return nil, err
}

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/host/ownership"
	"github.com/farrier-dev/farrier/internal/system"
)

// cluster is the Kubernetes API that a command asks, as its flags name it.
type cluster struct {
	kubeconfig, context string
	// namespace has Farrier's own objects.
	namespace string
}

func (c *cluster) bind(f *pflag.FlagSet) {
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig of the Kubernetes API (default: $KUBECONFIG, then ~/.kube/config)")
	f.StringVar(&c.context, "context", "", "context of the kubeconfig (default: the current context)")
	f.StringVar(&c.namespace, "manager-namespace", system.DefaultOptions().ManagerNamespace, "namespace of Farrier's own objects")
}

// connect returns a client of the API, and what the client was made from.
func (c *cluster) connect() (client.Client, *rest.Config, error) {
	config, err := clusterConfig(c.kubeconfig, c.context)
	switch {
	case err != nil && c.context != "":
		return nil, nil, fmt.Errorf("--kubeconfig, --context: %w", err)
	case err != nil:
		return nil, nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	api, err := client.New(config, client.Options{Scheme: system.Scheme()})
	if err != nil {
		return nil, nil, fmt.Errorf("--kubeconfig: the Kubernetes API at %s: %w", config.Host, err)
	}
	return api, config, nil
}

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

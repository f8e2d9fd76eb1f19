package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/host/ownership"
	"github.com/farrier-dev/farrier/internal/standalone"
	"github.com/farrier-dev/farrier/internal/system"
)

// whereKubeconfigs is what the help says of the kubeconfig that is taken where no flag names one.
const whereKubeconfigs = "(default: $KUBECONFIG, then that of 'farrier up' in its default data directory, then ~/.kube/config)"

// systemDataDir is the data directory of `farrier up` as root, and as the service of the Debian package.
const systemDataDir = "/var/lib/farrier"

// cluster is the Kubernetes API that a command asks, as its flags name it.
type cluster struct {
	// prefix begins the names of the flags of a second API.
	prefix              string
	kubeconfig, context string
	// namespace has Farrier's own objects.
	namespace string
}

func (c *cluster) bind(f *pflag.FlagSet) {
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig of the Kubernetes API "+whereKubeconfigs)
	f.StringVar(&c.context, "context", "", "context of the kubeconfig (default: the current context)")
	f.StringVar(&c.namespace, "manager-namespace", system.DefaultOptions().ManagerNamespace, "namespace of Farrier's own objects")
}

// connect returns a client of the API, and what the client was made from.
func (c *cluster) connect() (client.WithWatch, *rest.Config, error) {
	config, err := c.config()
	if err != nil {
		return nil, nil, err
	}
	api, err := client.NewWithWatch(config, client.Options{Scheme: system.Scheme()})
	if err != nil {
		return nil, nil, fmt.Errorf("--%skubeconfig: the Kubernetes API at %s: %w", c.prefix, config.Host, err)
	}
	return api, config, nil
}

// config is what a client of the API is made from.
func (c *cluster) config() (*rest.Config, error) {
	config, err := clusterConfig(c.kubeconfig, c.context)
	switch {
	case err == nil || errors.Is(err, errNoKubeconfig):
		return config, err
	case c.context != "":
		return nil, fmt.Errorf("--%[1]skubeconfig, --%[1]scontext: %[2]w", c.prefix, err)
	}
	return nil, fmt.Errorf("--%skubeconfig: %w", c.prefix, err)
}

// errNoKubeconfig says that no kubeconfig exists where one is looked for.
var errNoKubeconfig = errors.New("no kubeconfig found: start Farrier with `farrier up`, or name the API of a cluster with --kubeconfig or $KUBECONFIG")

// clusterConfig reads the kubeconfig that is named, or else the one that is found, in its context of that name, or else its current one.
func clusterConfig(kubeconfig, contextName string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	if kubeconfig == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		rules.Precedence = []string{foundKubeconfig()}
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: contextName})
	config, err := loader.ClientConfig()
	if err == nil {
		config.Wrap(explainSilence(config.Host, isFarrier(loader, contextName)))
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
	switch named := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); {
	case kubeconfig != "" || !noneExists(rules.GetLoadingPrecedence()):
		return nil, err
	case named != "":
		return nil, fmt.Errorf("$%s names %s, which does not exist", clientcmd.RecommendedConfigPathEnvVar, named)
	}
	return nil, errNoKubeconfig
}

// isPlugin reports whether kubectl has called this program, by the name of its plugins.
func isPlugin() bool {
	return strings.HasPrefix(filepath.Base(os.Args[0]), "kubectl-") || completesForKubectl(os.Args[0])
}

// completesForKubectl reports whether kubectl has called a program to complete a command line of the plugin: the program of this name gets the
// words, and answers as cobra does.
func completesForKubectl(program string) bool {
	return filepath.Base(program) == "kubectl_complete-farrier"
}

// foundKubeconfig is the first file that exists of those where a kubeconfig is looked for.
func foundKubeconfig() string {
	own := filepath.Join(standalone.DefaultOptions().DataDir, standalone.KubeconfigFile)
	return firstKubeconfig(isPlugin(), own, filepath.Join(systemDataDir, standalone.KubeconfigFile), clientcmd.RecommendedHomeFile)
}

// firstKubeconfig chooses among the kubeconfig of `farrier up`, that of the host's, and that of kubectl. kubectl's own goes first for its
// plugin, which is to ask whom kubectl asks. A file that may not be read counts only where there is no other: its error says why.
func firstKubeconfig(plugin bool, own, host, kubectl string) string {
	order := []string{own, host, kubectl}
	if plugin {
		order = []string{kubectl, own, host}
	}
	denied := ""
	for _, path := range order {
		file, err := os.Open(path)
		if err == nil {
			_ = file.Close()
			return path
		}
		if errors.Is(err, fs.ErrPermission) && denied == "" {
			denied = path
		}
	}
	if denied != "" {
		return denied
	}
	return kubectl
}

func noneExists(paths []string) bool {
	for _, path := range paths {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// isFarrier reports whether the context is that of a kubeconfig which `farrier up` has written.
func isFarrier(loader clientcmd.ClientConfig, contextName string) bool {
	raw, err := loader.RawConfig()
	if err != nil {
		return false
	}
	if contextName == "" {
		contextName = raw.CurrentContext
	}
	used := raw.Contexts[contextName]
	return used != nil && used.Cluster == standalone.ClusterName
}

// silence is the error of a request that nobody answers. Its text is all that a person needs.
type silence struct {
	text  string
	cause error
}

func (s *silence) Error() string { return s.text }
func (s *silence) Unwrap() error { return s.cause }

// explainSilence has requests to the address say that nobody answers there.
func explainSilence(address string, farrier bool) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return silences{next, address, farrier} }
}

// silences makes a silence of each error that says that nobody answers at the address. Requests to others, for which the same credentials
// are used, are not concerned.
type silences struct {
	next    http.RoundTripper
	address string
	farrier bool
}

// WrappedRoundTripper lets client-go reach what is wrapped.
func (s silences) WrappedRoundTripper() http.RoundTripper { return s.next }

// RoundTrip implements http.RoundTripper.
func (s silences) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := s.next.RoundTrip(r)
	if err == nil || !strings.Contains(s.address, r.URL.Host) {
		return response, err
	}
	var network *net.OpError
	if !errors.Is(err, context.DeadlineExceeded) && (!errors.As(err, &network) || network.Op != "dial") {
		return response, err
	}
	text := fmt.Sprintf("the Kubernetes API at %s does not answer (%s)", s.address, shortest(err))
	if s.farrier {
		text = fmt.Sprintf("Farrier at %s does not answer (%s); is `farrier up` running?", s.address, shortest(err))
	}
	return nil, &silence{text, err}
}

// shortest is the innermost error, which says in a few words what the others repeat with addresses.
func shortest(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// plain returns the part of an error that a person needs: of a silence nothing but itself, whichever request found out.
func plain(err error) error {
	var s *silence
	if errors.As(err, &s) {
		return s
	}
	return err
}

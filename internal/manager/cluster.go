package manager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	manifests "github.com/farrier-dev/farrier/config"
	"github.com/farrier-dev/farrier/internal/controller/watchfilter"
	"github.com/farrier-dev/farrier/internal/controlplane/crds"
	"github.com/farrier-dev/farrier/internal/system"
)

// requestTimeout bounds each request before the start.
const requestTimeout = 15 * time.Second

// connect finds the API and checks its prerequisites, so that a missing one is reported once, in words. await waits for an API that does not answer.
func connect(ctx context.Context, o options, await func(context.Context, func(context.Context) error) error) (*rest.Config, error) {
	config, err := clientConfig(o.kubeconfig)
	if err != nil {
		return nil, err
	}
	// The API's own fairness shares it out (flow control); a second limit here would only delay what users wait for.
	config.QPS = -1
	config.UserAgent = "farrier-manager"
	if err := await(ctx, func(ctx context.Context) error { return check(ctx, config, o) }); err != nil {
		return nil, fmt.Errorf("Kubernetes API at %s: %w", config.Host, err)
	}
	return config, nil
}

// clientConfig reads the kubeconfig of the flag or the environment, or takes the credentials that a cluster gives its pods.
func clientConfig(kubeconfig string) (*rest.Config, error) {
	flag := "--kubeconfig"
	if kubeconfig == "" {
		kubeconfig, flag = os.Getenv(clientcmd.RecommendedConfigPathEnvVar), "$"+clientcmd.RecommendedConfigPathEnvVar
	}
	if kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		return config, nil
	}
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("no Kubernetes API: set --kubeconfig, or run in a cluster")
	}
	if err != nil {
		return nil, fmt.Errorf("credentials of the cluster: %w", err)
	}
	return config, nil
}

func check(ctx context.Context, config *rest.Config, o options) error {
	asking := rest.CopyConfig(config)
	asking.Timeout = requestTimeout
	api, err := discovery.NewDiscoveryClientForConfig(asking)
	if err != nil {
		return err
	}
	if err := started(ctx, api); err != nil {
		return fmt.Errorf("does not answer: %w", err)
	}
	wanted, err := manifests.CRDs()
	if err != nil {
		return err
	}
	if o.installCRDs {
		if err := crds.Install(ctx, asking, wanted, crds.Options{}); err != nil {
			return fmt.Errorf("--install-crds: %w", err)
		}
	}
	absent, err := missing(api, wanted)
	if err != nil {
		return err
	}
	if len(absent) > 0 {
		return fmt.Errorf("missing CRDs: %s; apply config/crd, or start with --install-crds", strings.Join(absent, ", "))
	}
	c, err := client.New(asking, client.Options{Scheme: system.Scheme()})
	if err != nil {
		return err
	}
	if err := checkNamespace(ctx, c, o.ManagerNamespace); err != nil {
		return err
	}
	return checkAlone(ctx, c, o)
}

// started asks whether the API has started: before that it knows neither CRDs nor roles, and what it says of them means nothing.
func started(ctx context.Context, api discovery.DiscoveryInterface) error {
	err := api.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		_, err = api.ServerVersion()
	}
	return err
}

// missing lists the CRDs whose resources the API does not serve. It reads the served resources and not the CRDs, because a
// manager needs no right to read those.
func missing(api discovery.DiscoveryInterface, wanted []*apiextensionsv1.CustomResourceDefinition) ([]string, error) {
	served := map[string]bool{}
	asked := map[string]bool{}
	var absent []string
	for _, definition := range wanted {
		for _, version := range definition.Spec.Versions {
			groupVersion := definition.Spec.Group + "/" + version.Name
			if !asked[groupVersion] {
				asked[groupVersion] = true
				list, err := api.ServerResourcesForGroupVersion(groupVersion)
				if err != nil && !apierrors.IsNotFound(err) {
					return nil, fmt.Errorf("resources of %s: %w", groupVersion, err)
				}
				if err == nil {
					for i := range list.APIResources {
						served[list.APIResources[i].Name+"."+groupVersion] = true
					}
				}
			}
			if !served[definition.Spec.Names.Plural+"."+groupVersion] {
				absent = append(absent, definition.Name)
			}
		}
	}
	slices.Sort(absent)
	return slices.Compact(absent), nil
}

func checkNamespace(ctx context.Context, c client.Client, name string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := c.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("--manager-namespace: namespace %q does not exist", name)
	case apierrors.IsForbidden(err):
		return nil // no right to read it: whatever needs an object in it reports what is missing
	case err != nil:
		return fmt.Errorf("--manager-namespace: %w", err)
	}
	return nil
}

// checkAlone refuses to run beside another installation with the same filter: both would act on the same BMCs, each with a Lease of its own. The older one
// stays, which is that of the older keys; nobody can date a Secret back. The Secret has the label of its installation, so that no namespace is that of two,
// and nobody changes a filter by mistake.
func checkAlone(ctx context.Context, c client.Client, o options) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := c.List(ctx, list, client.MatchingFields{"metadata.name": system.KeysSecret})
	if apierrors.IsForbidden(err) {
		return nil // whatever needs Secrets reports that
	}
	if err != nil {
		return fmt.Errorf("Secrets called %s: %w", system.KeysSecret, err)
	}
	return alone(list.Items, o.ManagerNamespace, o.filter)
}

// alone is checkAlone for the Secrets of all installations.
func alone(secrets []metav1.PartialObjectMetadata, namespace string, filter watchfilter.Filter) error {
	var own *metav1.PartialObjectMetadata
	for i := range secrets {
		if secrets[i].Namespace == namespace {
			own = &secrets[i]
		}
	}
	if own != nil && !filter.Covers(own) {
		return fmt.Errorf("--watch-filter: is %[1]q, and the namespace %[2]s is that of an installation with %[3]q. To change the filter of an installation, stop it and change the label "+
			"%[4]s of its objects and of the Secret %[2]s/%[5]s; an installation beside it needs a namespace of its own", filter.String(), namespace, own.Labels[metalv1.LabelWatchFilter],
			metalv1.LabelWatchFilter, system.KeysSecret)
	}
	for i := range secrets {
		other := &secrets[i]
		if other.Namespace != namespace && filter.Covers(other) && (own == nil || other.CreationTimestamp.Before(&own.CreationTimestamp)) {
			return fmt.Errorf("another Farrier is installed in the namespace %[1]q, which has an older Secret %[2]s: two of them would both act on every BMC. "+
				"Run this one there (--manager-namespace %[1]s), or give it objects of its own (--watch-filter); or, if that one is gone for good, delete that Secret", other.Namespace, system.KeysSecret)
		}
	}
	return nil
}

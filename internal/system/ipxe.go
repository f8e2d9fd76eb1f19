package system

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/grant"
	"github.com/farrier-dev/farrier/internal/controller/ipxeapi"
	"github.com/farrier-dev/farrier/internal/ipxeapi/content"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// AllNamespaces is what --boot-namespaces says when objects of every namespace count.
const AllNamespaces = "*"

// configURLTTL is how long a signed URL of a config is good for: a boot with its retries.
const configURLTTL = time.Hour

// checkIPXE reads the options of profiles and assignments.
func (s *settings) checkIPXE() error {
	var errs []error
	var err error
	if s.webhookHosts, err = content.ParseHosts(s.WebhookHosts); err != nil {
		errs = append(errs, fmt.Errorf("--webhook-hosts: %w", err))
	}
	for _, namespace := range s.BootNamespaces {
		if problems := validation.IsDNS1123Label(namespace); namespace != AllNamespaces && len(problems) > 0 {
			errs = append(errs, fmt.Errorf("--boot-namespaces: %q: %s", namespace, problems[0]))
		}
	}
	return errors.Join(errs...)
}

// namespaces says for which machines boot objects of a namespace may speak: the manager's and those that the operator names for
// any, all others for what is granted to them; where all count, those that are not named come after these.
func (s *settings) namespaces(metadata client.Reader) *grant.Namespaces {
	operators := []string{s.ManagerNamespace}
	all := false
	for _, namespace := range s.BootNamespaces {
		if namespace == AllNamespaces {
			all = true
		} else {
			operators = append(operators, namespace)
		}
	}
	return &grant.Namespaces{Reader: metadata, Operators: operators, All: all}
}

// derived is a key of its own for a purpose, so that no value made for one is of use for another.
func (k keys) derived(purpose string) []byte {
	mac := hmac.New(sha256.New, k.token)
	mac.Write([]byte("farrier key\x00" + purpose))
	return mac.Sum(nil)
}

// newProfiles makes the empty view of machines that name themselves.
func (s *System) newProfiles() *profile.View {
	return profile.NewView(clock.RealClock{}, s.configSigner())
}

// configSigner signs URLs of configs; nil: they are not signed.
func (s *System) configSigner() *profile.Signer {
	if !s.settings.SignConfigURLs {
		return nil
	}
	return &profile.Signer{Key: s.keys.derived("config urls"), TTL: configURLTTL}
}

// addProfiles makes the controllers that fill it.
func (s *System) addProfiles(c *controllers, config *rest.Config) error {
	mgr := c.viewing
	// What the manager's cache holds of ConfigMaps is records of its own.
	maps, err := cache.New(config, cache.Options{
		Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(), DefaultTransform: compact, NewInformer: s.contact.informer,
	})
	if err != nil {
		return fmt.Errorf("cache of ConfigMaps: %w", err)
	}
	webhooks := content.NewResolver(content.Options{Hosts: s.settings.webhookHosts, MaxBytes: profile.MaxConfig, Clock: clock.RealClock{}})
	initial := ipxeapi.NewInitial(s.profiles, mgr.GetCache())
	c.profiles = &ipxeapi.Profiles{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), View: s.profiles, Webhooks: webhooks, Key: s.keys.derived("config ids"),
		Grants: c.namespaces.Of, KeysSecret: types.NamespacedName{Namespace: s.settings.ManagerNamespace, Name: KeysSecret},
		ConfigMaps: maps, Initial: initial, Workers: workers,
	}
	c.assignments = &ipxeapi.Assignments{Client: mgr.GetClient(), View: s.profiles, Grants: c.namespaces.Of, Initial: initial, Workers: workers}
	c.revisits = append(c.revisits, c.profiles.Revisit, c.assignments.Revisit)
	return errors.Join(mgr.Add(maps), mgr.Add(named("webhooks of profiles", webhooks.Run)),
		c.profiles.SetupWithManager(mgr), c.assignments.SetupWithManager(mgr), mgr.Add(initial))
}

// withoutApplied is compact without what kubectl apply keeps in an object: the object again.
func withoutApplied(object any) (any, error) {
	compacted, err := compact(object)
	if o, ok := compacted.(client.Object); ok {
		delete(o.GetAnnotations(), "kubectl.kubernetes.io/last-applied-configuration")
	}
	return compacted, err
}

// ipxeObjects says how the cache keeps Profiles and Assignments.
func ipxeObjects(by map[client.Object]cache.ByObject) {
	by[&ipxev1.Profile{}] = cache.ByObject{Transform: withoutApplied}
	by[&ipxev1.Assignment{}] = cache.ByObject{Transform: withoutApplied}
}

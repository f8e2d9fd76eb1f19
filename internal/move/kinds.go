package move

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// groups are those whose objects move. All versions that Farrier has ever served are here.
var groups = []schema.GroupVersion{
	metalv1.GroupVersion, bootv1.GroupVersion, ipxev1.GroupVersion, farrierv1.GroupVersion,
}

// precedence is the order in which kinds are made where no object owns or names another; others come after them.
var precedence = []string{
	"Namespace", "Secret", "ConfigMap", "Endpoint", "BMCSecret", "BMC", "BMCUser", "RolloutPolicy", "FirmwareImage", "BIOSVersionSet", "BMCVersionSet", "BIOSSettingsSet", "BMCSettingsSet", "BIOSSettings", "BMCSettings", "BIOSVersion", "BMCVersion", "ServerClaim", "ServerMaintenance", "ServerBootConfiguration", "Server",
	"Profile", "Assignment", "ServerReadinessRule",
}

// kind is one kind of objects.
type kind struct {
	schema.GroupVersionKind
	resource   string
	namespaced bool
	status     bool // a subresource
}

func (k kind) String() string {
	if k.Group == "" {
		return k.resource
	}
	return k.resource + "." + k.Group
}

// core are Secrets and ConfigMaps.
func (k kind) core() bool { return k.Group == "" }

// coreKinds move only where Farrier made them, or an object names them.
var coreKinds = []kind{
	{corev1.SchemeGroupVersion.WithKind("Secret"), "secrets", true, false},
	{corev1.SchemeGroupVersion.WithKind("ConfigMap"), "configmaps", true, false},
}

// identify refuses one API as both sides. A namespace of the same name has another UID in another cluster.
func (m *mover) identify(ctx context.Context) error {
	for _, side := range []struct {
		Side
		id *string
	}{{m.Source, &m.sourceID}, {m.Target, &m.targetID}} {
		var ns corev1.Namespace
		err := side.Get(ctx, client.ObjectKey{Name: m.Namespace}, &ns)
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%s: --manager-namespace: namespace %q does not exist", side.Name, m.Namespace)
		case err != nil:
			return fmt.Errorf("%s: read namespace %q: %w", side.Name, m.Namespace, err)
		}
		*side.id = string(ns.UID)
	}
	if m.sourceID == m.targetID {
		return fmt.Errorf("%s and %s are the same cluster", m.Source.Name, m.Target.Name)
	}
	return nil
}

// findKinds lists the kinds that the source serves. The target has to serve each of them in the same version.
func (m *mover) findKinds() ([]kind, error) {
	kinds, err := served(m.Source)
	if err != nil {
		return nil, err
	}
	if len(kinds) == 0 {
		return nil, fmt.Errorf("%s: serves no kinds of Farrier", m.Source.Name)
	}
	there, err := served(m.Target)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, k := range kinds {
		if !slices.Contains(there, k) {
			missing = append(missing, k.String()+" "+k.Version)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return nil, fmt.Errorf("%s: missing CRDs, or in another version than at the source: %s; apply config/crd", m.Target.Name, strings.Join(missing, ", "))
	}
	return append(kinds, coreKinds...), nil
}

func served(side Side) ([]kind, error) {
	var kinds []kind
	for _, gv := range groups {
		list, err := side.Discovery.ServerResourcesForGroupVersion(gv.String())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: resources of %s: %w", side.Name, gv, err)
		}
		kinds = append(kinds, kindsOf(gv, list.APIResources)...)
	}
	return kinds, nil
}

func kindsOf(gv schema.GroupVersion, resources []metav1.APIResource) []kind {
	subresource := map[string]bool{}
	for i := range resources {
		subresource[resources[i].Name] = true
	}
	var kinds []kind
	for i := range resources {
		if r := &resources[i]; !strings.Contains(r.Name, "/") {
			kinds = append(kinds, kind{gv.WithKind(r.Kind), r.Name, r.Namespaced, subresource[r.Name+"/status"]})
		}
	}
	return kinds
}

// rank is the place of a kind in precedence.
func (k kind) rank() int {
	if i := slices.Index(precedence, k.Kind); i >= 0 {
		return i
	}
	return len(precedence)
}

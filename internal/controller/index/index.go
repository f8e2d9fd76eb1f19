package index

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/identity"
)

const (
	// ServerByBMC finds Servers by the name of their BMC.
	ServerByBMC = "spec.bmcRef.name"
	// ServerByBMCSecret finds Servers with an inline BMC by the name of its BMCSecret.
	ServerByBMCSecret = "spec.bmc.bmcSecretRef.name"
	// ServerByIdentity finds Servers by what identifies their machine to itself, as Identity and MachineUUID spell it.
	ServerByIdentity = "identity"
	// ServerByState finds Servers by what status says of their state.
	ServerByState = "status.state"
	// ServerByClaim finds Servers by the UID of the claim that has them, or had them.
	ServerByClaim = "claimedBy"
	// EndpointByMAC finds Endpoints by their canonical MAC address.
	EndpointByMAC = "canonicalMAC"
	// BMCByEndpoint finds BMCs by the name of their Endpoint.
	BMCByEndpoint = "spec.endpointRef.name"
	// BMCBySecret finds BMCs by the name of their BMCSecret.
	BMCBySecret = "spec.bmcSecretRef.name"
	// BMCByMAC finds BMCs by the canonical MAC addresses that they have told, or that are written down in place of an Endpoint.
	BMCByMAC = "bmcMAC"
	// BMCByIP finds BMCs without an Endpoint by their canonical IP address.
	BMCByIP = "spec.access.ip"
	// ServerByBMCIP finds Servers with an inline BMC by its canonical IP address.
	ServerByBMCIP = "spec.bmc.address"
	// ClaimByServer finds claims by the name of the Server they name.
	ClaimByServer = "spec.serverRef.name"
	// ClaimByPhase finds claims by their phase; those without one are Unbound.
	ClaimByPhase = "status.phase"
	// BootConfigByServer finds boot configurations by the name of their Server.
	BootConfigByServer = "spec.serverRef.name"
	// BootConfigByAttempt finds boot configurations by the ID of their boot attempt.
	BootConfigByAttempt = "bootAttempt"
	// BootConfigByPullSecret finds boot configurations by the name of the Secret that opens their image's registry.
	BootConfigByPullSecret = "imagePullSecret"
	// MaintenanceByServer finds ServerMaintenances by the name of their Server.
	MaintenanceByServer = "spec.serverRef.name"
	// BMCUserByBMC finds BMCUsers by the name of their BMC, BMCUserBySecret by that of the BMCSecret with a given password.
	BMCUserByBMC    = "spec.bmcRef.name"
	BMCUserBySecret = "spec.bmcSecretRef.name"
	// BIOSSettingsByServer finds BIOSSettings by the name of their Server.
	BIOSSettingsByServer = "spec.serverRef.name"
	// ControlledBy finds what Sets make for their targets by the UID of the object that controls it.
	ControlledBy = "controlledBy"
	// BIOSVersionByServer finds BIOSVersions by the name of their Server.
	BIOSVersionByServer = "spec.serverRef.name"
	// BMCVersionByBMC finds BMCVersions by the name of their BMC.
	BMCVersionByBMC = "spec.bmcRef.name"
	// BMCSettingsByBMC finds BMCSettings by the name of their BMC.
	BMCSettingsByBMC = "spec.BMCRef.name"
	// BootConfigByMachine finds IPXEBootConfigs and HTTPBootConfigs by what names a machine, as Machines spells it.
	BootConfigByMachine = "machine"
	// CleanupByServer finds the metadata of the records of cleanups by the name of their Server.
	CleanupByServer = "cleanupOf"
	// AssignmentBySelection finds Assignments by what they select and at which priority, as Selection returns it.
	AssignmentBySelection = "selection"
	// AssignmentByProfile finds Assignments by the Profile that they may get, as Wanted and Uses spell it.
	AssignmentByProfile = "profile"
	// ProfileByLabel finds Profiles by each of their labels, as Labelled spells it.
	ProfileByLabel = "metadata.labels"
	// BySecret finds boot configs by the names of the Secrets they refer to.
	BySecret = "spec.secretRefs"
)

// row is one index.
type row struct {
	obj   client.Object
	field string
	value func(client.Object) []string
}

// Register adds every index to a manager's cache.
func Register(ctx context.Context, indexer client.FieldIndexer) error {
	all := []row{
		{&metalv1.Server{}, ServerByBMC, of(func(s *metalv1.Server) string { return name(s.Spec.BMCRef) })},
		{&metalv1.Server{}, ServerByBMCSecret, of(inlineSecret)},
		{&metalv1.Server{}, ServerByIdentity, identities},
		{&metalv1.Server{}, ServerByState, of(func(s *metalv1.Server) string { return string(s.Status.State) })},
		{&metalv1.Server{}, ServerByClaim, of(func(s *metalv1.Server) string { return s.Annotations[metalv1.AnnotationClaimedBy] })},
		{&metalv1.Endpoint{}, EndpointByMAC, of(func(e *metalv1.Endpoint) string { return MAC(e.Spec.MACAddress) })},
		{&metalv1.BMC{}, BMCByEndpoint, of(func(b *metalv1.BMC) string { return name(b.Spec.EndpointRef) })},
		{&metalv1.BMC{}, BMCBySecret, of(func(b *metalv1.BMC) string { return b.Spec.BMCSecretRef.Name })},
		{&metalv1.BMC{}, BMCByMAC, bmcMACs},
		{&metalv1.BMC{}, BMCByIP, of(func(b *metalv1.BMC) string { return inlineIP(b.Spec.Access) })},
		{&metalv1.Server{}, ServerByBMCIP, of(func(s *metalv1.Server) string {
			if s.Spec.BMC == nil {
				return ""
			}
			return IP(s.Spec.BMC.Address)
		})},
		{&metalv1.ServerClaim{}, ClaimByServer, of(func(c *metalv1.ServerClaim) string { return name(c.Spec.ServerRef) })},
		{&metalv1.ServerClaim{}, ClaimByPhase, of(phase)},
		{&metalv1.ServerBootConfiguration{}, BootConfigByServer, of(func(c *metalv1.ServerBootConfiguration) string { return c.Spec.ServerRef.Name })},
		{&metalv1.ServerBootConfiguration{}, BootConfigByAttempt, of(func(c *metalv1.ServerBootConfiguration) string {
			if a := bootattempt.Of(c); a != nil {
				return a.ID
			}
			return ""
		})},
		{&metalv1.ServerBootConfiguration{}, BootConfigByPullSecret, of(func(c *metalv1.ServerBootConfiguration) string {
			return c.Annotations[metalv1.AnnotationImagePullSecret]
		})},
		{&metalv1.ServerMaintenance{}, MaintenanceByServer, of(func(m *metalv1.ServerMaintenance) string { return m.Spec.ServerRef.Name })},
		{&metalv1.BMCUser{}, BMCUserByBMC, of(func(u *metalv1.BMCUser) string { return name(u.Spec.BMCRef) })},
		{&metalv1.BMCUser{}, BMCUserBySecret, of(func(u *metalv1.BMCUser) string { return name(u.Spec.BMCSecretRef) })},
		{&metalv1.BIOSSettings{}, BIOSSettingsByServer, of(func(b *metalv1.BIOSSettings) string { return name(b.Spec.ServerRef) })},
		{&metalv1.BIOSSettings{}, ControlledBy, controller},
		{&metalv1.BMCSettings{}, ControlledBy, controller},
		{&metalv1.BMCVersion{}, ControlledBy, controller},
		{&metalv1.BIOSVersion{}, ControlledBy, controller},
		{&metalv1.BIOSVersion{}, BIOSVersionByServer, of(func(b *metalv1.BIOSVersion) string { return name(b.Spec.ServerRef) })},
		{&metalv1.BMCVersion{}, BMCVersionByBMC, of(func(b *metalv1.BMCVersion) string { return name(b.Spec.BMCRef) })},
		{&metalv1.BMCSettings{}, BMCSettingsByBMC, of(func(b *metalv1.BMCSettings) string { return name(b.Spec.BMCRef) })},
		{&ipxev1.Assignment{}, AssignmentBySelection, of(Selection)},
		{&ipxev1.Assignment{}, AssignmentByProfile, of(Wanted)},
		{&ipxev1.Profile{}, ProfileByLabel, Labelled},
		{recordMeta(), CleanupByServer, cleanupOf},
	}
	for _, m := range bootmethod.Methods {
		all = append(all, row{m.New(), BootConfigByMachine, Machines}, row{m.New(), BySecret, secrets})
	}
	for _, i := range all {
		if err := indexer.IndexField(ctx, i.obj, i.field, i.value); err != nil {
			return fmt.Errorf("index %T by %s: %w", i.obj, i.field, err)
		}
	}
	return nil
}

// MAC is the form in which EndpointByMAC knows a MAC address; what is none is not indexed.
func MAC(s string) string {
	canonical, err := identity.MAC(s)
	if err != nil {
		return ""
	}
	return canonical
}

// of adapts a function of a typed object; an empty value is not indexed.
func of[T client.Object](value func(T) string) func(client.Object) []string {
	return func(obj client.Object) []string {
		typed, ok := obj.(T)
		if !ok {
			return nil
		}
		if v := value(typed); v != "" {
			return []string{v}
		}
		return nil
	}
}

// IP is the form in which BMCByIP and ServerByBMCIP know an IP address; what is none is not indexed.
func IP(s string) string {
	canonical, err := identity.IP(s)
	if err != nil {
		return ""
	}
	return canonical
}

func inlineIP(access *metalv1.InlineEndpoint) string {
	if access == nil {
		return ""
	}
	return IP(access.IP)
}

// bmcMACs are the MAC addresses of a BMC.
func bmcMACs(obj client.Object) (found []string) {
	b, ok := obj.(*metalv1.BMC)
	if !ok {
		return nil
	}
	if mac := MAC(b.Status.MACAddress); mac != "" {
		found = append(found, mac)
	}
	if b.Spec.Access == nil {
		return found
	}
	if mac := MAC(b.Spec.Access.MACAddress); mac != "" && !slices.Contains(found, mac) {
		found = append(found, mac)
	}
	return found
}

func inlineSecret(s *metalv1.Server) string {
	if s.Spec.BMC == nil {
		return ""
	}
	return s.Spec.BMC.BMCSecretRef.Name
}

// controller is the UID of what controls an object.
func controller(obj client.Object) []string {
	if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
		return []string{string(owner.UID)}
	}
	return nil
}

func phase(c *metalv1.ServerClaim) string {
	if c.Status.Phase == "" {
		return string(metalv1.ServerClaimPhaseUnbound)
	}
	return string(c.Status.Phase)
}

// secrets are the names of the Secrets that a boot config refers to.
func secrets(obj client.Object) []string {
	if config := bootmethod.ConfigOf(obj); config != nil {
		return config.Secrets()
	}
	return nil
}

func name(ref *metalv1.LocalObjectReference) string {
	if ref == nil {
		return ""
	}
	return ref.Name
}

// recordMeta is what is cached of objects of record.
func recordMeta() client.Object {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return meta
}

func cleanupOf(obj client.Object) []string {
	if server := machinerecord.ServerOf(obj); server != "" && obj.GetLabels()[machinerecord.Label] == machinerecord.KindCleanup {
		return []string{server}
	}
	return nil
}

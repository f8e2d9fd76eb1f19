// Package v1alpha1 holds the wire types of metal.ironcore.dev/v1alpha1: the machines that exist and what they are used for.
//
// The kinds, in the order in which a machine meets them:
//
//   - Endpoint: a MAC and an IP address that were seen on the management network.
//   - BMC, with its BMCSecret: a management controller and its credentials.
//   - Server: one computer system of a BMC, with its state.
//   - ServerClaim: a request for a server that runs a given image and ignition.
//   - ServerBootConfiguration: what one server boots, for its claim or for discovery.
//   - ServerMaintenance: a request to use a server exclusively for a while.
//   - BMCUser: an account at a BMC, with a password that is kept and replaced.
//   - BIOSSettings: the settings that the BIOS of a server should have.
//   - BMCSettings: the settings that a BMC itself should have.
//   - BIOSSettingsSet: BIOSSettings for every server that it selects.
//   - BMCSettingsSet: BMCSettings for every BMC that it selects.
//   - BIOSVersion: the version that the BIOS of a server should have.
//   - BMCVersion: the version that the firmware of a BMC should have.
//   - BIOSVersionSet: a BIOSVersion for every server that it selects.
//   - BMCVersionSet: a BMCVersion for every BMC that it selects.
//   - ServerReadinessRule: the conditions that servers must have before a claim gets them.
//
// The kinds are compatible on the wire: names, JSON, validation, defaults and printer columns are those that existing manifests
// and clients rely on. A field that Farrier adds is optional, and its comment says so. annotations.go, labels.go, finalizers.go,
// taints.go and conditions.go hold the strings that have a meaning but are no field.
//
// The package depends on k8s.io/apimachinery only, so that importing it is cheap.
//
// +kubebuilder:object:generate=true
// +groupName=metal.ironcore.dev
package v1alpha1

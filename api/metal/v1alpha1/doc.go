// Package v1alpha1 holds the wire types of metal.ironcore.dev/v1alpha1: what is
// known of the metal and what is wanted of it.
//
// The kinds, in the order in which a machine meets them:
//
//   - Endpoint: a MAC and an IP address seen on the management network.
//   - BMC, with its BMCSecret: a management controller and its credentials.
//   - Server: one computer system of a BMC, with its state.
//   - ServerClaim: somebody wants a server, with this image and this ignition.
//   - ServerBootConfiguration: what one server boots, for its claim or for discovery.
//   - ServerMaintenance: somebody needs a server to himself for a while.
//   - BIOSSettings: settings that the BIOS of a server should have.
//
// The kinds are kept wire for wire: names, JSON, validation, defaults and printer
// columns are those that existing manifests and clients rely on. What Farrier adds is
// optional and says so in its comment. Strings with a meaning that are no field stand
// in annotations.go, labels.go, finalizers.go, taints.go and conditions.go.
//
// The package depends on k8s.io/apimachinery only, so that importing it costs
// next to nothing.
//
// +kubebuilder:object:generate=true
// +groupName=metal.ironcore.dev
package v1alpha1

// Package v1alpha1 holds the wire types of ipxe.cloud.alexandre.mahdhaoui.com/v1alpha1: which iPXE script a machine runs. The
// machine names itself by its labels; it needs no Server.
//
// A Profile is a script and the configs that the script refers to. An Assignment selects machines and gives them a Profile of its
// namespace.
//
// +kubebuilder:object:generate=true
// +groupName=ipxe.cloud.alexandre.mahdhaoui.com
package v1alpha1

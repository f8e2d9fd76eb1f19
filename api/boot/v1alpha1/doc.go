// Package v1alpha1 holds the wire types of boot.ironcore.dev/v1alpha1: what a machine boots, one kind for each boot method.
//
// An IPXEBootConfig is for machines that chainload iPXE. An HTTPBootConfig is for UEFI HTTP boot of a unified kernel image.
// Farrier writes them from a ServerBootConfiguration. You can write them by hand for machines that have no Server.
//
// +kubebuilder:object:generate=true
// +groupName=boot.ironcore.dev
package v1alpha1

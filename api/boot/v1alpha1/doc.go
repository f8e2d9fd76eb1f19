// Package v1alpha1 holds the wire types of boot.ironcore.dev/v1alpha1: what a
// machine is given when it boots, by the method it boots with.
//
// An IPXEBootConfig is for machines that chainload iPXE, an HTTPBootConfig for UEFI HTTP
// boot of a unified kernel image. Controllers write them from a ServerBootConfiguration; people
// may write them by hand for machines without a Server.
//
// +kubebuilder:object:generate=true
// +groupName=boot.ironcore.dev
package v1alpha1

// Package v1alpha1 holds the wire types of ipxe.cloud.alexandre.mahdhaoui.com/v1alpha1:
// which script a machine runs that can name itself, whether or not a Server stands for it.
//
// A Profile is a script with the configs it refers to. An Assignment says which machines get
// which Profile of its namespace.
//
// +kubebuilder:object:generate=true
// +groupName=ipxe.cloud.alexandre.mahdhaoui.com
package v1alpha1

// Package v1alpha1 holds the wire types of farrier.dev/v1alpha1: kinds that Farrier has beside those of the contract.
//
// A RolloutPolicy says how carefully a change goes through a fleet: how many servers may be unavailable at once, in which waves, at which
// times, and after how many failures it stops. Sets choose one by an annotation.
//
// A FirmwareImage says of an image of firmware what has to be installed before it, and how one goes back from it.
//
// +kubebuilder:object:generate=true
// +groupName=farrier.dev
package v1alpha1

// Package api is the root of the module that holds Farrier's wire types, one package a group:
// metal/v1alpha1, boot/v1alpha1 and ipxe/v1alpha1. It depends on
// k8s.io/apimachinery and nothing of Farrier, so that anybody can import it.
package api

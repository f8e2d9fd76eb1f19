// Package api is the root of the module that holds Farrier's wire types, one package for each API group: metal/v1alpha1,
// boot/v1alpha1, ipxe/v1alpha1 and farrier/v1alpha1. The module depends on k8s.io/apimachinery and on nothing of Farrier, so that any program can
// import it.
package api

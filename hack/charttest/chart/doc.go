// Package chart renders charts/farrier as `helm install` does, with the library of Helm.
package chart

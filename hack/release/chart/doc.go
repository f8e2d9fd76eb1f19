// Package chart packages the Helm chart of a version, as `helm package` does but with the same bytes each time, and pushes it as the artifact that Helm
// pulls from oci:// addresses.
package chart

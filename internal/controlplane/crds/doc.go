// Package crds installs custom resource definitions.
package crds

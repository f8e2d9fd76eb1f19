// Package image makes container images without a container engine: a base of its own (roots.go, base.go), one program, for each platform (image.go), with a
// bill of materials that refers to it, as an OCI layout in a folder (layout.go), and from there in a registry (push.go). The same programs give the same
// digests.
package image

// Package discovery makes the discovery image: a kernel, an initramfs in which metalprobe is the only program, and a UKI of both.
//
//	kernel.go     where a kernel and its modules are
//	build.go      parts become an image
//	here.go       what this system has of the parts
//	initramfs.go  the file system that the kernel unpacks
//	oci.go        the image as registries and folders have it
//
// The same parts give the same bytes: no time, no owner and no order of a folder is in them.
package discovery

// Package bootmethod is the table of boot methods: what it means that a machine boots by iPXE, or by UEFI HTTP boot.
//
// A Method is a row. It names the kind of its boot configs, the layers of an image that it boots, the boot override that has firmware boot this
// way, and what firmware then fetches itself (File). It knows three steps: Plan writes the spec of a boot config for an image, ConfigOf reads
// what boot configs of all methods have in common, and Render fills in what the boot server answers. Choose decides by which of several methods a
// machine boots.
//
// Everybody else goes through the table: controllers make, render and report boot configs, admission judges their URLs and addresses, and the
// boot server has a route for each File. None of them knows a kind by name.
//
// # Adding a method
//
// Its kind is one file in api/boot/v1alpha1 and `make generate`. Here it is a file with its row and its renderer, and the row in Methods. A layer
// that no method boots yet has a row in package registry (plan.go). CONTRIBUTING.md has all files in order.
package bootmethod

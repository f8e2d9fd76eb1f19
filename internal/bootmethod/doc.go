// Package bootmethod is the table of boot methods: what it means that a machine boots by iPXE, or by UEFI HTTP boot.
//
// A Method is a row. It names the kind of its boot configs and the boot override that has firmware boot this way, and knows three steps:
// Plan writes the spec of a boot config for an image, Config reads what boot configs of all methods have in common, and Render fills in what
// the boot server answers. Controllers go through the table and know no kind by name.
//
// # Adding a method
//
//   - Its kind in api/boot/v1alpha1, with the status fields that the others have, and `make generate`.
//   - A file here with its row and its renderer, and the row in Methods.
//   - What its machines fetch: a DeliveryKind in internal/bootview, if it is new, and the route in internal/bootserver.
//   - A rule for its spec in internal/admission, the conditions that are its own in docs/boot-server.md.
package bootmethod

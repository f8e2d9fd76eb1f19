// Package authority makes the certificates of the boot stream where no cert-manager does: an authority, certificates of managers and of boot
// servers, and a directory of PEM files that `farrier cert` keeps them in.
//
// A certificate has one DNS name and one use. That of a boot server proves it to managers and to nobody else; that of a manager proves it to
// boot servers. Which site a boot server is of is not in it: managers know.
//
// The package has no clock: whoever calls says what time it is.
package authority

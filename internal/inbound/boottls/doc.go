// Package boottls has the certificates with which the boot server proves itself to machines.
//
// They come from one of two places. Authority is our own: it is made once, kept by whoever calls, and signs a certificate
// for the names under which machines reach us; the leaf lives in memory and is made anew long before it ends. Files are the
// user's, read again when they change. Identity holds the one that is shown to new connections, and keeps the last good one
// whatever becomes of the place that it came from.
//
// What is made here is what firmware understands. Keys are RSA of 3072 bits: iPXE verifies no other kind of signature, and
// UEFI firmware that asks OpenSSL for its security level 3 takes no shorter ones. Machines without a battery, and those whose
// clock runs in local time, are a day early or late: nothing that is made here begins today.
//
// The package is pure but for Files, which reads files, and has an injected clock.
package boottls

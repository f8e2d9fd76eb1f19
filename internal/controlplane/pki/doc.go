// Package pki keeps the certificates of an embedded control plane in one directory.
//
// There is one authority. It signs the serving certificate of the API, which is made when it is missing and again when it no longer fits
// (other addresses, another authority, too old), and client certificates, which live for hours and are kept by whoever uses them. Keys are
// ECDSA P-256, mode 0600.
package pki

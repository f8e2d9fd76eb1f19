// Package pki keeps the certificates of an embedded control plane in one directory.
//
// There is one authority. It signs the serving certificate of the API and the client certificate of the administrator. Everything is made
// when it is missing and again when it no longer fits (other addresses, another authority, too old). Keys are ECDSA P-256, mode 0600.
package pki

// Package signature verifies that a trusted key has signed an image. Signatures have the formats of cosign, of which registries hold two: simple
// signing, a payload with the signature beside it as an annotation, and Sigstore bundles with an envelope of DSSE.
//
//	keys.go      public keys: which there are, and what each verifies
//	simple.go    the payload of simple signing (containers/image, docs/containers-signature.5.md)
//	bundle.go    bundles (sigstore protobuf-specs, sigstore_bundle.proto) whose envelope holds an in-toto statement (in-toto attestation v1)
//
// Only the key decides: neither certificates nor transparency logs are looked at. The package knows nothing of registries: package registry finds
// what is to be verified.
package signature

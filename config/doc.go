// Package config carries what an installation applies to a Kubernetes API, embedded in the
// binary: the CustomResourceDefinitions (crd/, generated from the types in api/ by
// hack/generate.sh), what farrier-manager may do in a cluster (manager/), what tenants may do (tenant/), and a
// sample of every kind (samples/).
//
// Lists under testdata hold the CRDs to the contract: metal-fields.txt, boot-fields.txt
// and ipxe-fields.txt say what existing manifests and clients rely on, farrier-fields.txt and additions.txt say
// what Farrier adds. A field that is in none of them fails the test, and so does one
// that is missing.
package config

// Package testapi gives tests a real Kubernetes API: the control plane of package controlplane, as a child process.
//
//	func TestSomething(t *testing.T) {
//		cfg := testapi.Start(t)
//		namespace := testapi.Namespace(t)
//		…
//	}
//
// One server is shared by the tests of a package; namespaces keep them apart. It is a child and not part of the test binary, because then a
// test links in a second instead of ten, runs under the race detector without slowing the API down, and can kill it.
//
// The binary is built once for all packages into the user's cache directory, and again when its sources change; FARRIER_TEST_CONTROLPLANE
// names one to use instead. A data directory with the CRDs of config/crd is prepared once in the same place and copied for every server,
// which is faster than installing them.
//
// LaunchKubernetes starts the API server of a cluster instead, with all its kinds: FARRIER_TEST_KUBEAPISERVER names its binary.
package testapi

// Package origin is the registry of benchmarks that are about boot artifacts: a process of its own that has one
// blob, answers as the OCI distribution-spec says (v1.1 §"Pulling blobs"), at no more than a given rate over all of
// its connections, and counts what it sends.
package origin

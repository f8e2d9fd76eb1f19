// Package bootservers has tests of boot servers that stand apart from the manager, as they are run: each a process of its own, with
// certificates as files and no credentials of Kubernetes.
package bootservers

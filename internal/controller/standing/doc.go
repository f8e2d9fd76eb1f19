// Package standing says for which machines a namespace may speak: all of them where it is one of the operator's, otherwise what the
// annotation farrier.dev/boot-identities of its Namespace grants. Only who may change Namespaces grants anything, which tenants may not.
package standing

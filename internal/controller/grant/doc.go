// Package grant says which machines the objects of a namespace may select: all if it is one of the operator's, otherwise those that the
// annotation farrier.dev/boot-identities of its Namespace grants. Only users who may change Namespaces can grant machines; tenants may not.
package grant

// Package etcdclientlog keeps the etcd clients of the API server from writing to standard error.
//
// Their logger is made once, in an init function of k8s.io/apiserver/pkg/storage/storagebackend/factory, from etcd's default configuration, and
// cannot be reached afterwards. What it logs are requests that were tried again, mostly because a client was closed during an orderly end.
//
// So the default has to change before. Go initialises packages in the order of their import paths as far as imports allow (language
// specification, "Program initialization"): this package needs nothing but etcd's logutil, which that package needs too, and sorts before it.
package etcdclientlog

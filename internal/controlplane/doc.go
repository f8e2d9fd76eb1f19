// Package controlplane runs a Kubernetes API inside this process: the generic control plane of k8s.io/kubernetes on an embedded etcd.
//
// What it serves is what Farrier needs and what kubectl expects: custom resources, namespaces, secrets, configmaps, events, leases, service
// accounts, RBAC, admission webhooks and policies, discovery and OpenAPI. It has no pods, nodes, services or anything that schedules.
//
// Reading order:
//
//	server.go       Options, Start, Server: the order in which the parts start and stop
//	datadir/        the lock and the format of the data directory
//	pki/            the authority, the serving certificate, client certificates
//	encryption.go   the key under which secrets rest in etcd
//	store.go        the store with what guards it and keeps it up; startroom.go: whether the disk has room for a start
//	etcd.go         the store itself
//	diskguard/      nothing is handed to the store that might not fit on the disk
//	room.go         refuses requests meanwhile
//	upkeep.go       snapshots, defragmentation, and the end of the quota's alarm
//	snapshot.go     the store in one stream, and back
//	storeend.go     what happens if the store ends all the same
//	apiserver.go    the three API servers in their chain: aggregator, built-in kinds, custom resources
//	resources.go    the built-in kinds it serves
//	certificates.go which certificates there are and what they prove
//	authentication.go  who may connect: client certificates and service accounts; nobody else sees more than the health endpoints
//	remembered.go   remembers for a minute which certificates are verified
//	admission.go    which admission plugins run, and the room for our own
//	audit.go        which requests the audit log records, and for how long; auditpolicy.yaml
//	fieldowners.go  drops the record of field managers from objects of controllers
//	rbac.go         the few roles that exist from the start
//	flow.go         administrators do not wait behind a flood
//	controllers.go  garbage collector and namespace controller, which the generic control plane lacks
//	quota.go        counts the objects that quotas limit
//	kubeconfig/     what administrators need to connect, renewed while they use it
//	crds.go         installing custom resource definitions
//	version.go      which version of Kubernetes the API reports
//	logging.go, etcdclientlog/  keeping three logging libraries quiet
//	collector.go    uses spare memory to save processor time for garbage collection
//	testapi/        all of it as a child process, for tests; acceptance/ has those of this package
//
// # The data directory
//
//	version             format of the directory; a newer one is refused
//	pid                 who holds the lock
//	restoring           is there while a backup is restored; nobody opens the directory then
//	etcd/               the store, and the socket that is its only listener
//	encryption.yaml     the key of secrets and bmcsecrets, made once; without it they cannot be read
//	pki/                certificates and keys
//	audit/              the audit log, and the policy by which it is written unless another is given
//	kubeconfig          the administrator's, unless it is written elsewhere
//	kubeconfig.pem      the certificate and key that it names, valid for a day
//
// The directory and everything in it is for its owner only, and a directory of somebody else is refused. Losing pki costs nothing but new certificates; losing encryption.yaml loses the
// secrets, so a directory that has a store but no key is refused instead of given a new key.
//
// # One process
//
// The API server keeps global state (logging, metrics, feature gates). Start may be called again after Stop, but only one server should run
// in a process at a time.
package controlplane

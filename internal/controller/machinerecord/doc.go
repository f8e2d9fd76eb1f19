// Package machinerecord keeps what cannot be observed again: the report of a probe and the
// outcome of a cleanup. Each is a ConfigMap in the manager's namespace, compressed,
// and carries the ID of the boot attempt it comes from.
package machinerecord

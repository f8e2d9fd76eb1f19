// Package manager is the farrier-manager command: it runs the system of internal/system on the Kubernetes API of a cluster.
//
// It reads its flags (command.go), connects to the API and checks its prerequisites (cluster.go), configures the garbage
// collector for the available memory (memory.go, collector.go), and runs until it is stopped. Several replicas can run: the one that holds
// the Lease is active, the others keep their caches and their boot view up to date and stand by.
package manager

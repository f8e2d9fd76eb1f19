// Package manager is the farrier-manager command: the system of internal/system on the Kubernetes API of a cluster.
//
// It reads its flags (command.go), finds the API and sees that everything it needs is there (cluster.go), tells the garbage
// collector how much memory there is (memory.go), and runs until it is told to stop or the lease is somebody else's.
// Several may run: the one that holds the Lease acts, the others keep their caches and wait.
package manager

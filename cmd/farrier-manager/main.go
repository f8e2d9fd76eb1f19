// Command farrier-manager runs the controllers of Farrier on the Kubernetes API of a cluster.
package main

import (
	"os"

	"github.com/farrier-dev/farrier/internal/manager"
)

func main() { os.Exit(manager.Main(os.Args[1:], os.Stdout, os.Stderr)) }

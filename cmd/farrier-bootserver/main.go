// Command farrier-bootserver answers machines from a view that a manager sends it, without credentials of a Kubernetes API.
package main

import (
	"os"

	"github.com/farrier-dev/farrier/internal/bootserver/process"
)

func main() { os.Exit(process.Main(os.Args[1:], os.Stdout, os.Stderr)) }

// Command farrier takes racked metal to booted servers.
package main

import (
	"os"

	"github.com/farrier-dev/farrier/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) }

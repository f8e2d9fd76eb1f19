// Command metalprobe reports the hardware of the machine it runs on to a boot
// server. Where the answer is the order to clean, it wipes the machine's disks and
// reports what became of them. It ends when the last report is accepted.
package main

import (
	"os"

	"github.com/farrier-dev/farrier/internal/probe/command"
)

func main() { os.Exit(command.Main()) }

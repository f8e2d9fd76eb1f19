//go:build linux

package pid1

import (
	"os"
	"path/filepath"
	"strings"
)

// consoleQueue is how many lines wait for a console. One that takes none, such as a serial line that is held by flow control, loses lines and
// holds nobody up.
const consoleQueue = 256

// consoles writes to every console of the machine: the screen and the serial lines. /dev/console is only the last of them.
type consoles []chan []byte

// openConsoles opens those that the kernel prints on.
func openConsoles() consoles {
	active, _ := os.ReadFile("/sys/class/tty/console/active") // without it: /dev/console
	names := strings.Fields(string(active))
	if len(names) == 0 {
		names = []string{"console"}
	}
	var out consoles
	for _, name := range names {
		f, err := os.OpenFile(filepath.Join("/dev", name), os.O_WRONLY, 0)
		if err != nil {
			continue
		}
		lines := make(chan []byte, consoleQueue)
		go func() {
			for line := range lines {
				_, _ = f.Write(line) // there is nobody else to tell
			}
		}()
		out = append(out, lines)
	}
	return out
}

// Write never fails and never waits.
func (c consoles) Write(p []byte) (int, error) {
	text := []byte(strings.ReplaceAll(string(p), "\n", "\r\n"))
	for _, lines := range c {
		select {
		case lines <- text:
		default:
		}
	}
	return len(p), nil
}

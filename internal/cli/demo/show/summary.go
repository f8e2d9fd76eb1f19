package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/farrier-dev/farrier/internal/cli/screen"
)

// available is the state of a server whose discovery is over.
const available = "Available"

// WriteSummary writes what came of a demo in which all went well, in five lines. A demo that failed has none: its error says what there is to say.
func (r *Result) WriteSummary(w io.Writer, paint screen.Paint) error {
	if !r.OK {
		return nil
	}
	var b strings.Builder
	b.WriteString("\n")
	for _, line := range [][2]string{{"found", r.found()}, {"booted", r.booted()}, {"wiped", r.wiped()}, {"verified", r.verified()}, {"try next", next}} {
		b.WriteString(paint.In(screen.Green, screen.Pad(line[0], len("verified"))) + "  " + line[1] + "\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

// next is what a person can do after the demo.
const next = "farrier up --sim 3   then, in another terminal, farrier status"

// found tells of discovery.
func (r *Result) found() string {
	last := Seconds(0)
	for _, s := range r.Servers {
		for _, c := range s.States {
			if c.Value == available { // for the first time
				last = max(last, c.Seconds)
				break
			}
		}
	}
	return fmt.Sprintf("%s behind %s, each inspected, in %.1fs", plural(len(r.Servers), "server"), plural(len(r.Servers), "BMC"), seconds(last))
}

func (r *Result) booted() string {
	return fmt.Sprintf("%s into the image that %s, in %.1fs", plural(len(r.Claims), "machine"), oneOrEach(len(r.Claims), "its claim names", "their claims name"), seconds(r.BootSeconds))
}

func (r *Result) wiped() string {
	disks := 0
	for _, c := range r.Claims {
		if c.Cleanup != nil {
			disks += len(c.Cleanup.Disks)
		}
	}
	return fmt.Sprintf("%s of %s: nothing is left on %s", plural(disks, "disk"), plural(len(r.Claims), "machine"), oneOrEach(disks, "it", "them"))
}

func (r *Result) verified() string {
	files := 0
	for _, c := range r.Claims {
		files += len(c.Files)
	}
	return fmt.Sprintf("%s: every byte is that of the image and of the Secret", plural(files, "file"))
}

func oneOrEach(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

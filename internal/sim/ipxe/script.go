package ipxe

import (
	"bytes"
	"strings"
)

const magic = "#!ipxe"

// IsScript reports whether a file is an iPXE script: the magic, then white space or
// nothing.
func IsScript(b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte(magic))
	return ok && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}

// script is a file cut into lines, each with the label that may stand before
// its command.
type script struct {
	lines  []string
	labels map[string]int
}

// parseScript joins lines that end in a backslash. The first line is the magic,
// which is a comment.
func parseScript(b []byte) script {
	s := script{labels: map[string]int{}}
	text := strings.ReplaceAll(string(b), "\r\n", "\n")
	text = strings.ReplaceAll(text, "\\\n", "")
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if after, ok := strings.CutPrefix(line, ":"); ok {
			label, command := after, ""
			if i := strings.IndexAny(after, " \t"); i >= 0 {
				label, command = after[:i], after[i:]
			}
			// The first of two equal labels counts: goto searches from the top.
			if _, taken := s.labels[label]; !taken {
				s.labels[label] = len(s.lines)
			}
			line = strings.TrimSpace(command)
		}
		s.lines = append(s.lines, line)
	}
	return s
}

// step is one command of a line, with what has to be true of its result for
// the next one to be run.
type step struct {
	argv []string
	next func(error) bool
}

func always(error) bool        { return true }
func succeeded(err error) bool { return err == nil }
func failed(err error) bool    { return err != nil }
func never(error) bool         { return false }

// splitLine cuts an expanded line into commands. A word that begins with # ends
// it: that is how iPXE sees comments, wherever they stand.
func splitLine(line string) []step {
	var steps []step
	var argv []string
	for _, word := range strings.Fields(line) {
		if word[0] == '#' {
			break
		}
		var next func(error) bool
		switch word {
		case "||":
			next = failed
		case "&&":
			next = succeeded
		case ";":
			next = always
		default:
			argv = append(argv, word)
			continue
		}
		steps = append(steps, step{argv, next})
		argv = nil
	}
	return append(steps, step{argv, never})
}

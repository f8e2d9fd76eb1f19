package bmcreset

import (
	"slices"
	"strings"
)

// Make is a maker whose BMCs can be restarted over SSH.
type Make string

const (
	None   Make = ""
	Dell   Make = "Dell"
	HPE    Make = "HPE"
	Lenovo Make = "Lenovo"
)

// makes says what each maker's command line understands. Of several commands the first that is not
// refused is it: firmware generations differ.
var makes = []struct {
	make     Make
	words    []string
	commands []string
}{
	{Dell, []string{"dell"}, []string{"racadm racreset"}},            // iDRAC RACADM CLI guide
	{HPE, []string{"hpe", "hp", "hewlett"}, []string{"reset /map1"}}, // iLO SMASH CLP (DSP0214)
	{Lenovo, []string{"lenovo"}, []string{"resetsp", "rebootbmc"}},   // XClarity Controller; older ones
}

// MakeOf finds the maker in the first of names that has one.
func MakeOf(names ...string) Make {
	for _, name := range names {
		words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r < 'a' || r > 'z' })
		for _, m := range makes {
			if slices.ContainsFunc(m.words, func(w string) bool { return slices.Contains(words, w) }) {
				return m.make
			}
		}
	}
	return None
}

func (m Make) commands() []string {
	for _, known := range makes {
		if known.make == m {
			return known.commands
		}
	}
	return nil
}

// refusals are what command lines print that take an unknown or failed command for a success.
var refusals = []string{
	"unknown command", "invalid command", "command not found", "not recognized", "unrecognized", "unable to run",
	"command processing failed", "syntax error", "access denied", "permission denied", "error:",
}

// refused returns the line in which a command line says that it did not do what it was told.
func refused(output string) string {
	for line := range strings.Lines(output) {
		lower := strings.ToLower(line)
		if slices.ContainsFunc(refusals, func(r string) bool { return strings.Contains(lower, r) }) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

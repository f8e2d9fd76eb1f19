package usage

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	// near is how many letters a name may differ from what was typed.
	near = 2
	// mostMeant is how many names are offered: more would be no help.
	mostMeant = 3
)

// meant asks whether one of these was meant; nothing was.
func meant(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(names[:min(len(names), mostMeant)], " or ") + "?"
}

// similarCommands are those below a command whose names are like what was typed.
func similarCommands(cmd *cobra.Command, typed string) (names []string) {
	cmd.SuggestionsMinimumDistance = near
	for _, name := range cmd.SuggestionsFor(typed) {
		names = append(names, `"`+name+`"`)
	}
	return names
}

// similarFlags are the flags of a command whose names are like what was typed. How names are compared is cobra's affair, which
// compares those of commands.
func similarFlags(cmd *cobra.Command, typed string) (names []string) {
	var flags cobra.Command
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	}
	cmd.Flags().VisitAll(add)
	flags.SuggestionsMinimumDistance = near
	for _, name := range flags.SuggestionsFor(typed) {
		names = append(names, "--"+name)
	}
	return names
}

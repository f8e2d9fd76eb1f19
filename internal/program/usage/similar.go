package usage

import (
	"fmt"
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

// Meant asks whether one of these names was meant, each in a format such as "--%s". It is empty without names.
func Meant(names []string, format string) string {
	if len(names) == 0 {
		return ""
	}
	var offered []string
	for _, name := range names[:min(len(names), mostMeant)] {
		offered = append(offered, fmt.Sprintf(format, name))
	}
	return "; did you mean " + strings.Join(offered, " or ") + "?"
}

// similarCommands are those below a command whose names are like what was typed.
func similarCommands(cmd *cobra.Command, typed string) []string {
	cmd.SuggestionsMinimumDistance = near
	return cmd.SuggestionsFor(typed)
}

// Similar returns the names of flags that are like what was typed, without those that the help does not show.
func Similar(flags *pflag.FlagSet, typed string) []string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return SimilarTo(names, typed)
}

// SimilarTo returns the names that are like what was typed. How names are compared is cobra's affair, which compares those of commands.
func SimilarTo(names []string, typed string) []string {
	var commands cobra.Command
	for _, name := range names {
		commands.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	commands.SuggestionsMinimumDistance = near
	return commands.SuggestionsFor(typed)
}

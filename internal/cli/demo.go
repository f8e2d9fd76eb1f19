package cli

import (
	"github.com/spf13/cobra"

	"github.com/farrier-dev/farrier/internal/cli/demo"
	"github.com/farrier-dev/farrier/internal/program/usage"
)

func newDemo() *cobra.Command {
	options := demo.DefaultOptions()
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Take a simulated rack to booted servers, once, and show it",
		Long: `Starts a whole Farrier with a simulated rack and a small registry, finds the servers, looks at
them, claims some, boots them, gives them back, and cleans them. Everything is on loopback
and on free ports, and gone afterwards.

It succeeds only if each claimed machine fetched exactly what its image and its Secret hold;
otherwise it says which step did not happen, and why.`,
		Example: `  farrier demo
  farrier demo --servers 100 --claims 10
  farrier demo -o json
  farrier demo --break image`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := options.Check(); err != nil {
				return usage.Error(err)
			}
			return demo.Run(cmd.Context(), options, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&options.Servers, "servers", options.Servers, "how many servers the rack has")
	f.IntVar(&options.Claims, "claims", options.Claims, "how many of them are claimed and booted")
	f.StringVarP((*string)(&options.Output), "output", "o", string(options.Output), "text, or json for one object with everything that happened")
	f.DurationVar(&options.Timeout, "timeout", options.Timeout, "how long all of it may take (default 5m, and 1s more for each server)")
	f.StringVar(&options.Keep, "keep", "", "empty or new directory for data and log, which is kept")
	f.StringVar((*string)(&options.Break), "break", "", "break something, to see how that looks: image, secret, password or disk")
	f.IntVarP(&options.Verbosity, "verbosity", "v", 0, "above 0: log to standard error, 1 why, 2 everything")
	return cmd
}

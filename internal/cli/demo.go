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
		Short: "Show Farrier at work on a simulated rack",
		Long: `Starts Farrier with a simulated rack and a small image registry, discovers the servers, inspects
them, claims some, boots them, ends the claims, and cleans the servers. Everything runs on
loopback addresses and free ports, and nothing remains afterwards.

The demo succeeds only if each claimed machine has fetched exactly the content of its image
and of its Secret. Otherwise it names the step that failed and the reason.`,
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
	f.IntVar(&options.Servers, "servers", options.Servers, "number of servers in the rack")
	f.IntVar(&options.Claims, "claims", options.Claims, "number of servers that are claimed and booted")
	f.StringVarP((*string)(&options.Output), "output", "o", string(options.Output), "output format: text, or json for one object with everything that happened")
	f.DurationVar(&options.Timeout, "timeout", options.Timeout, "how long the demo may take; a longer time than the default also gives each step more (default: 5m and 1s more for each server)")
	f.StringVar(&options.Keep, "keep", "", "new or empty directory to keep the data and the log in (default: none, they are deleted)")
	f.StringVar((*string)(&options.Break), "break", "", "break something on purpose: image, secret, password or disk (default: nothing)")
	f.IntVarP(&options.Verbosity, "verbosity", "v", 0, "log level: 1 or 2 print the log to standard error in place of the picture, and timelines of the claimed machines at the end")
	return cmd
}

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/program/version"
)

func newVersion() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and Go version",
		Example: `  farrier version
  farrier version -o json`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			if output == "json" {
				return printJSON(cmd.OutOrStdout(), version.Of())
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "farrier "+version.Of().String())
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "output format: table, which is one line, or json")
	return cmd
}

package configfile

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/farrier-dev/farrier/internal/host/boundedfile"
	"github.com/farrier-dev/farrier/internal/program/usage"
)

// Flag is the name of the flag that Bind adds.
const Flag = "config"

// Bind adds --config to a command and applies the file before the command runs. It works for all flags of the command, whenever they are
// added. It keeps a PreRunE that the command has already.
func Bind(cmd *cobra.Command) {
	file := cmd.Flags().String(Flag, "", "YAML `FILE` that sets other flags by name, without dashes in front; the command line takes precedence (default: none)")
	next := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if err := load(cmd, *file); err != nil {
			return usage.Error(err)
		}
		if next != nil {
			return next(cmd, args)
		}
		return nil
	}
}

// load sets the flags that the file names and the command line does not.
func load(cmd *cobra.Command, file string) error {
	if file == "" {
		return nil
	}
	content, err := boundedfile.Read(file, maxFile)
	if err != nil {
		return fmt.Errorf("--%s: %w", Flag, err) // names the file itself
	}
	settings, problems := parse(content)
	if len(problems) == 0 {
		problems = apply(cmd.Flags(), settings)
	}
	for i, problem := range problems {
		problems[i] = fmt.Errorf("--%s: %s: %w", Flag, file, problem)
	}
	return errors.Join(problems...)
}

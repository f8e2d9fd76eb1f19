package usage

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError describes the problem of a flag in the user's words, without the vocabulary of the parser.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if name := unknown.GetSpecifiedName(); name != "" && unknown.GetSpecifiedShortnames() == "" {
			return fmt.Errorf("unknown flag --%s%s", name, meant(similarFlags(cmd, name)))
		}
		return err
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return valueError(invalid.GetFlag(), invalid.GetValue(), invalid.Unwrap())
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Errorf("--%s: needs a value", missing.GetFlag().Name)
	}
	return err
}

// wanted describes a valid value for each type of flag.
var wanted = map[string]string{
	"int":      "a whole number",
	"int64":    "a whole number",
	"uint":     "a whole number, zero or greater",
	"float64":  "a number",
	"bool":     "true or false",
	"duration": "a duration, such as 30s or 1h30m",
}

func valueError(flag *pflag.Flag, value string, cause error) error {
	want, known := wanted[flag.Value.Type()]
	switch {
	case errors.Is(cause, strconv.ErrRange):
		return fmt.Errorf("--%s: %s is out of range", flag.Name, value)
	case known:
		return fmt.Errorf("--%s: %q is not %s", flag.Name, value, want)
	}
	return fmt.Errorf("--%s: %w", flag.Name, cause)
}

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
			return fmt.Errorf("unknown flag --%s%s", name, Meant(Similar(cmd.Flags(), name), "--%s"))
		}
		return err
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		flag := invalid.GetFlag()
		return fmt.Errorf("--%s: %w", flag.Name, ValueError(flag, invalid.GetValue(), invalid.Unwrap()))
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Errorf("--%s: needs a value", missing.GetFlag().Name)
	}
	return err
}

// wanted describes a valid value for each type of flag.
var wanted = map[string]string{
	"count":    "a whole number",
	"int":      "a whole number",
	"int64":    "a whole number",
	"uint":     "a whole number, zero or greater",
	"float64":  "a number",
	"bool":     "true or false",
	"duration": "a duration, such as 30s or 1h30m",
}

// ValueError says what is wrong with the value of a flag, without naming the flag. It returns nil without a cause.
func ValueError(flag *pflag.Flag, value string, cause error) error {
	want, known := wanted[flag.Value.Type()]
	switch {
	case cause == nil:
		return nil
	case errors.Is(cause, strconv.ErrRange):
		return fmt.Errorf("%s is out of range", value)
	case known:
		return fmt.Errorf("%q is not %s", value, want)
	}
	return cause
}

package cli

import (
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/farrier-dev/farrier/internal/program/usage"
)

// outputs are the formats of --output.
var outputs = []string{"table", "json"}

// checkOutput refuses what --output does not know.
func checkOutput(format string) error {
	if !slices.Contains(outputs, format) {
		return usage.Errorf("--output: %q is neither table nor json", format)
	}
	return nil
}

// timeZone is where times are printed in.
func timeZone(utc bool) *time.Location {
	if utc {
		return time.UTC
	}
	return time.Local
}

// printJSON prints what --output=json asks for.
func printJSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

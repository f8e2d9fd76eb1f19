package usage

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/farrier-dev/farrier/internal/program/version"
)

func stable() *cobra.Command {
	root := &cobra.Command{Use: "stable", Args: NoArgs, RunE: func(*cobra.Command, []string) error { return nil }}
	feed := &cobra.Command{Use: "feed", Args: NoArgs, RunE: func(*cobra.Command, []string) error { return errors.New("no hay") }}
	f := feed.Flags()
	f.Int("horses", 1, "how many")
	f.Duration("within", time.Minute, "how long")
	f.Bool("oats", false, "whether")
	f.StringP("water-address", "w", "", "where")
	f.String("hidden", "", "")
	_ = f.MarkHidden("hidden")
	name := &cobra.Command{Use: "name NAME", Args: Args(cobra.ExactArgs(1)), RunE: func(*cobra.Command, []string) error { return nil }}
	root.AddCommand(feed, name)
	return root
}

// TestWhatIsWrongIsSaid: each error names the flag or argument, in words that no parser wrote, and the help of the command that was typed.
func TestWhatIsWrongIsSaid(t *testing.T) {
	for typed, want := range map[string]struct {
		code   int
		stderr string
	}{
		"":                                   {0, ""},
		"feed":                               {1, "stable: no hay\n"},
		"fed":                                {2, "stable: unknown command \"fed\"; did you mean \"feed\"?\nSee 'stable --help'.\n"},
		"groom":                              {2, "stable: unknown command \"groom\"\nSee 'stable --help'.\n"},
		"feed hay":                           {2, "stable: unexpected argument \"hay\": stable feed takes none\nSee 'stable feed --help'.\n"},
		"name":                               {2, "stable: accepts 1 arg(s), received 0\nSee 'stable name --help'.\n"},
		"feed --hores 1":                     {2, "stable: unknown flag --hores; did you mean --horses?\nSee 'stable feed --help'.\n"},
		"feed --water 1":                     {2, "stable: unknown flag --water; did you mean --water-address?\nSee 'stable feed --help'.\n"},
		"feed --hiden x":                     {2, "stable: unknown flag --hiden\nSee 'stable feed --help'.\n"},
		"feed -x":                            {2, "stable: unknown shorthand flag: 'x' in -x\nSee 'stable feed --help'.\n"},
		"feed --horses many":                 {2, "stable: --horses: \"many\" is not a whole number\nSee 'stable feed --help'.\n"},
		"feed --horses 99999999999999999999": {2, "stable: --horses: 99999999999999999999 is out of range\nSee 'stable feed --help'.\n"},
		"feed --within soon":                 {2, "stable: --within: \"soon\" is not a duration, such as 30s or 1h30m\nSee 'stable feed --help'.\n"},
		"feed --oats=some":                   {2, "stable: --oats: \"some\" is not true or false\nSee 'stable feed --help'.\n"},
		"feed -w":                            {2, "stable: --water-address: needs a value\nSee 'stable feed --help'.\n"},
	} {
		var stdout, stderr bytes.Buffer
		if code := Main(stable(), strings.Fields(typed), &stdout, &stderr, syscall.SIGTERM); code != want.code || stderr.String() != want.stderr {
			t.Errorf("stable %s: exit code %d, want %d\nsays %swant %s", typed, code, want.code, stderr.String(), want.stderr)
		}
	}
}

// TestEveryCommandKnowsItsVersion: it is that of the whole.
func TestEveryCommandKnowsItsVersion(t *testing.T) {
	for _, typed := range []string{"--version", "feed --version"} {
		var stdout, stderr bytes.Buffer
		if code := Main(stable(), strings.Fields(typed), &stdout, &stderr, syscall.SIGTERM); code != 0 || stdout.String() != "stable "+version.Of().String()+"\n" {
			t.Errorf("stable %s: exit code %d, prints %q, says %q", typed, code, stdout.String(), stderr.String())
		}
	}
}

package configfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farrier-dev/farrier/internal/program/configfile"
	"github.com/farrier-dev/farrier/internal/program/configfile/configfiletest"
	"github.com/farrier-dev/farrier/internal/program/usage"
)

// repeated is a flag that can be repeated, as some of ours can.
type repeated []string

func (r *repeated) String() string           { return strings.Join(*r, " ") }
func (r *repeated) Type() string             { return "string" }
func (r *repeated) Set(value string) error   { *r = append(*r, value); return nil }
func (r *repeated) Append(v string) error    { return r.Set(v) }
func (r *repeated) Replace(v []string) error { *r = v; return nil }
func (r *repeated) GetSlice() []string       { return *r }

// stable is a command with a flag of each type.
func stable() *cobra.Command {
	cmd := &cobra.Command{Use: "stable", Args: usage.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		fmt.Fprintln(cmd.OutOrStdout(), "ran")
		return nil
	}}
	configfile.Bind(cmd)
	f := cmd.Flags()
	f.IntP("horses", "n", 1, "how many")
	f.Int64("bytes", 0, "how many")
	f.Uint("carts", 0, "how many")
	f.Float64("load", 0.5, "how much")
	f.Duration("within", time.Minute, "how long")
	f.Bool("oats", true, "whether")
	f.String("water-address", ":1", "where")
	f.StringSlice("grooms", []string{"nobody"}, "who")
	urls := &repeated{}
	f.Var(urls, "url", "where")
	f.Var(urls, "old-url", "alias of --url")
	f.Func("func", "a flag that cannot be compared with others", func(string) error { return nil })
	f.String("hidden", "", "")
	_ = f.MarkHidden("hidden")
	return cmd
}

func TestEveryFlag(t *testing.T) {
	configfiletest.EveryFlag(t, func() *cobra.Command {
		cmd := stable()
		typed := pflag.NewFlagSet("", pflag.ContinueOnError)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "func" { // keeps no value to compare
				typed.AddFlag(f)
			}
		})
		cmd.ResetFlags()
		cmd.Flags().AddFlagSet(typed)
		return cmd
	})
}

// TestWhatTheFileSays: values are written as on the command line, and the command line takes precedence.
func TestWhatTheFileSays(t *testing.T) {
	for name, tc := range map[string]struct {
		file string
		args string
		want map[string]configfiletest.State // of the flags that are not at their defaults
	}{
		"nothing":        {file: ""},
		"a comment":      {file: "# nothing yet\n"},
		"null":           {file: "---\nnull\n"},
		"one document":   {file: "---\nhorses: 2\n...\n", want: map[string]configfiletest.State{"horses": {Changed: true, Value: "2"}}},
		"a hidden flag":  {file: "hidden: x", want: map[string]configfiletest.State{"hidden": {Changed: true, Value: "x"}}},
		"a bare port":    {file: "water-address: :8082", want: map[string]configfiletest.State{"water-address": {Changed: true, Value: ":8082"}}},
		"a name":         {file: "water-address: 0010", want: map[string]configfiletest.State{"water-address": {Changed: true, Value: "0010"}}},
		"an empty value": {file: `water-address: ""`, want: map[string]configfiletest.State{"water-address": {Changed: true}}},
		"no time":        {file: "within: 0", want: map[string]configfiletest.State{"within": {Changed: true, Value: "0s"}}},
		"a flow mapping": {file: `{"oats": false}`, want: map[string]configfiletest.State{"oats": {Changed: true, Value: "false"}}},
		"an empty list":  {file: "grooms: []", want: map[string]configfiletest.State{"grooms": {Changed: true, Value: "[]"}}},
		"a list as the command line has it": {file: "grooms: a,b", want: map[string]configfiletest.State{
			"grooms": {Changed: true, Value: "[a,b]", List: []string{"a", "b"}},
		}},
		"one URL": {file: "url: http://a", want: map[string]configfiletest.State{
			"url": {Changed: true, Value: "http://a", List: []string{"http://a"}}, "old-url": {Value: "http://a", List: []string{"http://a"}},
		}},
		"both names of a flag": {file: "old-url: [a, b]\nurl: [c]", want: map[string]configfiletest.State{
			"url": {Changed: true, Value: "a b c", List: []string{"a", "b", "c"}}, "old-url": {Changed: true, Value: "a b c", List: []string{"a", "b", "c"}},
		}},
		"the other name on the command line": {file: "old-url: [a, b]", args: "--url=c", want: map[string]configfiletest.State{
			"url": {Changed: true, Value: "c", List: []string{"c"}}, "old-url": {Value: "c", List: []string{"c"}},
		}},
		"a shorthand on the command line": {file: "horses: 2", args: "-n 3", want: map[string]configfiletest.State{"horses": {Changed: true, Value: "3"}}},
		"the default on the command line": {file: "oats: false\nhorses: 2", args: "--oats --horses=1", want: map[string]configfiletest.State{
			"oats": {Changed: true, Value: "true"}, "horses": {Changed: true, Value: "1"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			want := configfiletest.Run(t, stable())
			for flag, state := range tc.want {
				want[flag] = state
			}
			got := configfiletest.Run(t, stable(), append(strings.Fields(tc.args), "--config", configfiletest.Write(t, []byte(tc.file)))...)
			for _, states := range []map[string]configfiletest.State{want, got} {
				for flag, state := range states {
					if len(state.List) == 0 {
						state.List = nil
						states[flag] = state
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("got (+), want (-):\n%s", diff)
			}
		})
	}
}

// TestWhatIsWrongIsSaid: with file, line and key, all at once; and the command does not run.
func TestWhatIsWrongIsSaid(t *testing.T) {
	for file, want := range map[string]string{
		"hores: 2":                        `line 1: key "hores": is not a flag of this command; did you mean "horses"?`,
		"\n--horses: 2":                   `line 2: key "--horses": is not a flag of this command; did you mean "horses"?`,
		"hiden: 2":                        `line 1: key "hiden": is not a flag of this command`,
		"n: 2":                            `line 1: key "n": is not a flag of this command`,
		"config: other.yaml":              `line 1: key "config": can only be set on the command line`,
		"help: true":                      `line 1: key "help": can only be set on the command line`,
		"version: true":                   `line 1: key "version": can only be set on the command line`,
		"horses: 1\noats: true\nhorses:":  `line 3: key "horses": is on line 1 already`,
		"horses: many":                    `line 1: key "horses": "many" is not a whole number`,
		"horses: 1.5":                     `line 1: key "horses": "1.5" is not a whole number`,
		`horses: "1"`:                     `line 1: key "horses": "1" is text, because it is in quotes; write it without them`,
		"horses: 99999999999999999999":    `line 1: key "horses": "99999999999999999999" is not a whole number`,
		"horses: 9223372036854775808":     `line 1: key "horses": 9223372036854775808 is out of range`,
		"horses:":                         `line 1: key "horses": needs a value; "" is the empty one`,
		"horses: [1]":                     `line 1: key "horses": takes one value, not a list`,
		"water-address: {port: 1}":        `line 1: key "water-address": takes a value, not keys and values`,
		"water-address: ~":                `line 1: key "water-address": needs a value; "" is the empty one`,
		"water-address: !!binary eA==":    `line 1: key "water-address": takes a value without the tag !!binary`,
		"hidden: &a x\nwater-address: *a": `line 2: key "water-address": takes a value, not an alias`,
		"hidden: &a {}\n<<: *a":           `line 1: key "hidden": takes a value, not keys and values` + "\n" + `line 2: key "<<": is not a flag of this command`,
		"within: 5":                       `line 1: key "within": "5" is not a duration, such as 30s or 1h30m`,
		"oats: yes":                       `line 1: key "oats": "yes" is not true or false`,
		"oats: 1":                         `line 1: key "oats": "1" is not true or false`,
		"carts: -1":                       `line 1: key "carts": "-1" is not a whole number, zero or greater`,
		"load: heavy":                     `line 1: key "load": "heavy" is not a number`,
		"grooms: {a: b}":                  `line 1: key "grooms": takes a value, not keys and values`,
		"grooms: [a, [b]]":                `line 1: key "grooms": value 2: takes one value, not a list`,
		"grooms: [~]":                     `line 1: key "grooms": value 1: needs a value; "" is the empty one`,
		"? [a]\n: b":                      `line 1: a key has to be the name of a flag`,
		"- horses":                        `line 1: want keys and values, such as "power-off-budget: 10m"`,
		"horses":                          `line 1: want keys and values, such as "power-off-budget: 10m"`,
		"horses: 1\n---\noats: true":      `line 2: a second document begins here; put all keys into one`,
		"horses: 1\n---\n":                `line 2: a second document begins here; put all keys into one`,
		"horses: 1\n---\n}":               `yaml: line 2: did not find expected node content`,
		"horses: \"1":                     `yaml: found unexpected end of stream`,
		"horses: many\noats: maybe":       "line 1: key \"horses\": \"many\" is not a whole number\nline 2: key \"oats\": \"maybe\" is not true or false",
	} {
		path := configfiletest.Write(t, []byte(file))
		var lines strings.Builder
		for i, line := range strings.Split(want, "\n") {
			if i == 0 {
				lines.WriteString("stable: ")
			}
			lines.WriteString("--config: " + path + ": " + line + "\n")
		}
		lines.WriteString("See 'stable --help'.\n")
		var stdout, stderr bytes.Buffer
		if code := usage.Main(stable(), []string{"--config", path}, &stdout, &stderr); code != 2 || stderr.String() != lines.String() || stdout.Len() > 0 {
			t.Errorf("%s\nexit code %d, prints %q, says\n%swant\n%s", file, code, stdout.String(), stderr.String(), lines.String())
		}
	}
}

// TestPrecedenceHidesNoMistake: what can be checked without setting the flag is checked.
func TestPrecedenceHidesNoMistake(t *testing.T) {
	for _, file := range []string{"oats: maybe", "horses: [1]", "grooms: [~]"} {
		var stdout, stderr bytes.Buffer
		args := []string{"--oats", "--horses=1", "--grooms=x", "--config", configfiletest.Write(t, []byte(file))}
		if code := usage.Main(stable(), args, &stdout, &stderr); code != 2 {
			t.Errorf("%s: exit code %d, says %q", file, code, stderr.String())
		}
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, bytes.Repeat([]byte("#\n"), 1<<19+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): "no such file",
		dir:                             "is a directory",
		big:                             "larger than 1048576 bytes",
	} {
		var stdout, stderr bytes.Buffer
		code := usage.Main(stable(), []string{"--config", path}, &stdout, &stderr)
		if said := stderr.String(); code != 2 || !strings.HasPrefix(said, "stable: --config: ") || !strings.Contains(said, path) || !strings.Contains(said, want) {
			t.Errorf("%s: exit code %d, says %q; want %q", path, code, said, want)
		}
	}
}

// TestHelpReadsNoFile: somebody who asks for help gets it.
func TestHelpReadsNoFile(t *testing.T) {
	for _, flag := range []string{"--help", "-h", "--version"} {
		var stdout, stderr bytes.Buffer
		if code := usage.Main(stable(), []string{"--config", "/nowhere", flag}, &stdout, &stderr); code != 0 || stderr.Len() > 0 {
			t.Errorf("%s: exit code %d, says %q", flag, code, stderr.String())
		}
	}
}

// TestAPreRunStays: after the file was read.
func TestAPreRunStays(t *testing.T) {
	cmd := &cobra.Command{Use: "stable", SilenceErrors: true, SilenceUsage: true}
	horses := cmd.Flags().Int("horses", 1, "how many")
	failed := errors.New("seen")
	cmd.PreRunE = func(*cobra.Command, []string) error { return fmt.Errorf("%d horses %w", *horses, failed) }
	cmd.RunE = func(*cobra.Command, []string) error { t.Error("ran"); return nil }
	configfile.Bind(cmd)
	cmd.SetArgs([]string{"--config", configfiletest.Write(t, []byte("horses: 3"))})
	if err := cmd.Execute(); !errors.Is(err, failed) || !strings.HasPrefix(err.Error(), "3 horses") {
		t.Error(err)
	}
}

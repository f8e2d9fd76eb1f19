package configfiletest

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/farrier-dev/farrier/internal/program/configfile"
)

// State is what a run of a command has made of one flag.
type State struct {
	Changed bool
	Value   string
	List    []string // of a flag that takes several values
}

// EveryFlag runs a command that configfile.Bind has prepared, once for each of its flags and once for all of them. A file has to give each
// flag the value that the command line gives it, and the command line has to take precedence over the file. What the command does
// otherwise is left out.
func EveryFlag(t *testing.T, command func() *cobra.Command) {
	t.Helper()
	var all []sample
	settable(command()).VisitAll(func(f *pflag.Flag) { all = append(all, sampleOf(t, f)) })
	if len(all) == 0 {
		t.Fatal("the command has no flags to set")
	}
	for _, s := range all {
		same(t, command, []sample{s})
	}
	same(t, command, all)
	slices.Reverse(all)
	same(t, command, all)
}

// settable are the flags that a file can set.
func settable(cmd *cobra.Command) *pflag.FlagSet {
	flags := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	flags.SortFlags = false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != configfile.Flag {
			flags.AddFlag(f)
		}
	})
	return flags
}

// same compares file and command line, and both with the command line alone.
func same(t *testing.T, command func() *cobra.Command, samples []sample) {
	t.Helper()
	var args []string
	settings := yaml.Node{Kind: yaml.MappingNode}
	for _, s := range samples {
		args = append(args, s.args()...)
		settings.Content = append(settings.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: s.name}, s.node())
	}
	content, err := yaml.Marshal(&settings)
	if err != nil {
		t.Fatal(err)
	}
	want := Run(t, command(), args...)
	got := Run(t, command(), "--"+configfile.Flag, Write(t, content))
	for _, s := range samples {
		if !want[s.name].Changed {
			t.Errorf("--%s: the command line does not set it", s.name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the file\n%s\nsets other values than the command line (-) %q:\n%s", content, args, diff)
	}
	both := Run(t, command(), append(args, "--"+configfile.Flag, Write(t, content))...)
	if diff := cmp.Diff(want, both); diff != "" {
		t.Errorf("the file\n%s\nchanges what the command line (-) sets, %q:\n%s", content, args, diff)
	}
}

// Write writes a file for --config and returns its path.
func Write(t testing.TB, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Run runs a command with arguments as far as its own work, and returns its flags.
func Run(t testing.TB, cmd *cobra.Command, args ...string) map[string]State {
	t.Helper()
	ran := false
	cmd.RunE = func(*cobra.Command, []string) error { ran = true; return nil }
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	if err := cmd.Execute(); err != nil || !ran {
		t.Fatalf("%s %q: ran: %t, error: %v", cmd.Name(), args, ran, err)
	}
	return States(cmd)
}

// States are the flags of a command as they are now, without --config itself.
func States(cmd *cobra.Command) map[string]State {
	states := map[string]State{}
	settable(cmd).VisitAll(func(f *pflag.Flag) {
		state := State{Changed: f.Changed, Value: f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			state.List = slices.Clone(list.GetSlice())
		}
		states[f.Name] = state
	})
	delete(states, "help")
	return states
}

// sample is a value for a flag that differs from its default.
type sample struct {
	name  string
	tag   string
	texts []string
	list  bool
	csv   bool
}

// args are the arguments of a command line that set the value.
func (s sample) args() (args []string) {
	for _, text := range s.texts {
		if s.csv {
			text = quoted(text)
		}
		args = append(args, "--"+s.name+"="+text)
	}
	return args
}

// node is the value in YAML.
func (s sample) node() *yaml.Node {
	var items []*yaml.Node
	for _, text := range s.texts {
		items = append(items, &yaml.Node{Kind: yaml.ScalarNode, Tag: s.tag, Value: text})
	}
	if s.list {
		return &yaml.Node{Kind: yaml.SequenceNode, Content: items}
	}
	return items[0]
}

// quoted is one field of comma-separated values (RFC 4180), which is what a flag with a list takes.
func quoted(text string) string {
	var line strings.Builder
	w := csv.NewWriter(&line)
	_ = w.Write([]string{text}) // a strings.Builder takes everything
	w.Flush()
	return strings.TrimSuffix(line.String(), "\n")
}

func sampleOf(t *testing.T, f *pflag.Flag) sample {
	t.Helper()
	s := sample{name: f.Name}
	if _, ok := f.Value.(pflag.SliceValue); ok {
		s.list, s.csv, s.tag = true, f.Value.Type() == "stringSlice", "!!str"
		s.texts = []string{f.Name + "=one, with a comma", "two", ": three #"}
		return s
	}
	switch kind := f.Value.Type(); kind {
	case "string":
		s.tag, s.texts = "!!str", []string{":8082 # of " + f.Name}
	case "bool":
		s.tag, s.texts = "!!bool", []string{fmt.Sprint(f.DefValue != "true")}
	case "int", "int64", "uint":
		s.tag, s.texts = "!!int", []string{"4711"}
	case "float64":
		s.tag, s.texts = "!!float", []string{"0.4711"}
	case "duration":
		s.tag, s.texts = "!!str", []string{"1h17m3s"}
	default:
		t.Fatalf("--%s has the type %s, of which no sample is known here: add one", f.Name, kind)
	}
	return s
}

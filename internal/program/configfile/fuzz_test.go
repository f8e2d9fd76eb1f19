package configfile_test

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/farrier-dev/farrier/internal/program/configfile/configfiletest"
)

// FuzzFile: no file brings the command down, and a file that is taken sets what the command line can set: with the values of all flags as
// arguments the command comes to the same.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"", "horses: 2", "oats: false\nwithin: 3m", "grooms: [a, 'b,c', \"\"]", "url: [x]\nold-url: y", "water-address: |\n  two\n  lines\n", "load: 1e3", "horses: 0x10", "horses: 1_0",
		"load: .inf", "load: .nan", "&a horses: &b 1", "? horses\n: 1", "\xff\xfeh", "%YAML 1.1\n---\nhorses: 0o17", "horses: 017", "oats: TRUE", "carts: +1", "{horses: 1, horses: 2}", "*a",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		path := configfiletest.Write(t, content)
		cmd := stable()
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs([]string{"--config", path})
		cmd.SetOut(io.Discard)
		if err := cmd.Execute(); err != nil {
			if !strings.HasPrefix(err.Error(), "--config: "+path+": ") {
				t.Errorf("%v does not name the file", err)
			}
			return
		}
		got := configfiletest.States(cmd)
		typed := stable()
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			state, other := got[flag.Name], typed.Flags().Lookup(flag.Name)
			if !state.Changed {
				return
			}
			var err error
			if list, ok := other.Value.(pflag.SliceValue); ok {
				err = list.Replace(state.List)
				other.Changed = true
			} else {
				err = typed.Flags().Set(flag.Name, state.Value)
			}
			if err != nil {
				t.Errorf("--%s cannot be %q: %v", flag.Name, state.Value, err)
			}
		})
		if diff := cmp.Diff(got, configfiletest.States(typed)); diff != "" {
			t.Errorf("file (-), flags (+):\n%s", diff)
		}
	})
}

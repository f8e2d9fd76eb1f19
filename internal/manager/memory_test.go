package manager

import (
	"errors"
	"io/fs"
	"testing"
)

func TestDecideMemory(t *testing.T) {
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		env  map[string]string
		text string
		err  error
		want memory
		fail bool
	}{
		"no cgroup":            {err: fs.ErrNotExist, want: memory{gcPercent: gcPercent}},
		"not ours to read":     {err: fs.ErrPermission, want: memory{gcPercent: gcPercent}},
		"no limit":             {text: "max\n", want: memory{gcPercent: gcPercent}},
		"a limit":              {text: "1000000000\n", want: memory{gcPercent: gcPercent, limit: 900_000_000}},
		"a limit of nothing":   {text: "0", want: memory{gcPercent: gcPercent}},
		"beyond 64 bits":       {text: "99999999999999999999", want: memory{gcPercent: gcPercent}},
		"GOGC is set":          {env: map[string]string{"GOGC": "100"}, text: "1000", want: memory{}},
		"GOMEMLIMIT is set":    {env: map[string]string{"GOMEMLIMIT": "1GiB"}, text: "1000", want: memory{}},
		"what cannot be right": {err: broken, fail: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decideMemory(
				func(key string) (string, bool) { value, ok := tc.env[key]; return value, ok },
				func(string) ([]byte, error) { return []byte(tc.text), tc.err })
			if got != tc.want || (err != nil) != tc.fail {
				t.Errorf("got %+v, %v; want %+v", got, err, tc.want)
			}
		})
	}
}

package cgroup

import (
	"errors"
	"io/fs"
	"runtime/debug"
	"strings"
	"testing"
)

func TestMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		err  error
		want int64
	}{
		"a limit":                {text: "1000000000\n", want: 900_000_000},
		"none":                   {text: "max\n"},
		"something else":         {text: "-1\n"},
		"no cgroup v2":           {err: fs.ErrNotExist},
		"a file for others":      {err: fs.ErrPermission},
		"more than there can be": {text: "99999999999999999999999\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Memory(func(string) ([]byte, error) { return []byte(tc.text), tc.err })
			if err != nil || got != tc.want {
				t.Errorf("%d, %v; want %d", got, err, tc.want)
			}
		})
	}
	if _, err := Memory(func(string) ([]byte, error) { return nil, errors.New("broken disk") }); err == nil || !strings.Contains(err.Error(), "broken disk") {
		t.Errorf("%v", err)
	}
}

func TestLimitHeap(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	env := map[string]string{"GOMEMLIMIT": "1GiB"}
	lookup := func(key string) (string, bool) { value, set := env[key]; return value, set }
	read := func(string) ([]byte, error) { return []byte("5000000000"), nil }
	if limit, err := LimitHeap(lookup, read); limit != 0 || err != nil || debug.SetMemoryLimit(-1) != before {
		t.Errorf("beside GOMEMLIMIT: %d, %v", limit, err)
	}
	delete(env, "GOMEMLIMIT")
	if limit, err := LimitHeap(lookup, read); limit != 4_500_000_000 || err != nil || debug.SetMemoryLimit(-1) != limit {
		t.Errorf("in a container: %d, %v; the runtime has %d", limit, err, debug.SetMemoryLimit(-1))
	}
}

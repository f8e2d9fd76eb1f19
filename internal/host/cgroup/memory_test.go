package cgroup

import (
	"errors"
	"io/fs"
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

package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Options)
		want   string // begins the error; empty: there is none
	}{
		"default":            {func(*Options) {}, ""},
		"all claimed":        {func(o *Options) { o.Servers, o.Claims = 5, 5 }, ""},
		"no servers":         {func(o *Options) { o.Servers = 0 }, "--servers: 0 is out of range 1 to 2000"},
		"too many servers":   {func(o *Options) { o.Servers = 1 << 20 }, "--servers: 1048576 is out of range"},
		"too many claims":    {func(o *Options) { o.Claims = 4 }, "--claims: 4 is out of range 1 to 3, the number of servers"},
		"no claims":          {func(o *Options) { o.Claims = 0 }, "--claims: 0 is out of range"},
		"negative time":      {func(o *Options) { o.Timeout = -time.Second }, "--timeout: -1s"},
		"output":             {func(o *Options) { o.Output = "yaml" }, `--output: "yaml" is neither text nor json`},
		"break":              {func(o *Options) { o.Break = "everything" }, `--break: "everything" is not one of`},
		"keep, new":          {func(o *Options) { o.Keep = filepath.Join(full, "new") }, ""},
		"keep, empty":        {func(o *Options) { o.Keep = t.TempDir() }, ""},
		"keep, not empty":    {func(o *Options) { o.Keep = full }, "--keep: " + full + " is not empty"},
		"keep, a file":       {func(o *Options) { o.Keep = filepath.Join(full, "file") }, "--keep: "},
		"two things at once": {func(o *Options) { o.Servers, o.Output = 0, "" }, "--servers: 0 is out of range 1 to 2000\n--output: "},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			c.change(&o)
			err := o.Check()
			if c.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v, want %s…", err, c.want)
			}
		})
	}
}

func TestFastPollLeavesTimeInLargeRacks(t *testing.T) {
	small, large := Options{Servers: 3}, Options{Servers: 100}
	if small.fastPoll() > 300*time.Millisecond || large.fastPoll() < 500*time.Millisecond {
		t.Errorf("fast poll %s for 3 servers, %s for 100", small.fastPoll(), large.fastPoll())
	}
}

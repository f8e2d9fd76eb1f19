package system

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOwnedHere(t *testing.T) {
	dir := t.TempDir()
	folder, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Stat(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		info        fs.FileInfo
		owner, user int
		want        string
	}{
		"own":             {folder, 1000, 1000, ""},
		"root's":          {folder, 0, 1000, ""},
		"another's":       {folder, 1001, 1000, "chown -R 1000"},
		"another's, root": {folder, 1001, 0, "chown -R 0"},
		"a file":          {file, 1000, 1000, "no directory"},
	} {
		err := ownedHere("/data", c.info, c.owner, c.user)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestConnectionOptions: what cannot work is refused by the name of its flag.
func TestConnectionOptions(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"defaults":              {func(*Options) {}, ""},
		"a number of none":      {func(o *Options) { o.MaxConnections = -1 }, "--max-connections"},
		"of one address":        {func(o *Options) { o.MaxConnectionsPerAddress = -1 }, "--max-connections-per-address"},
		"more than files":       {func(o *Options) { o.MaxConnections = 1 << 40 }, "--max-connections"},
		"one more than all":     {func(o *Options) { o.MaxConnections, o.MaxConnectionsPerAddress = 20, 21 }, "--max-connections-per-address"},
		"plain on the host":     {func(o *Options) { o.MetricsAddress, o.MetricsPlain = "[::1]:9090", true }, ""},
		"plain by name":         {func(o *Options) { o.MetricsAddress, o.MetricsPlain = "localhost:9090", true }, ""},
		"plain everywhere":      {func(o *Options) { o.MetricsAddress, o.MetricsPlain = ":9090", true }, "--metrics-plain"},
		"a key without a cert":  {func(o *Options) { o.MetricsKeyFile = "key.pem" }, "--metrics-cert-file"},
		"a data dir that's not": {func(o *Options) { o.DataDir = "/dev/null" }, "--data-dir"},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			o.DataDir = filepath.Join(t.TempDir(), "data")
			c.change(&o)
			_, err := o.check()
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

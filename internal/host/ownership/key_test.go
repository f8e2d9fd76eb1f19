package ownership

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeys: ours and closed, or root's and open to a group for reading.
func TestKeys(t *testing.T) {
	const we, they = 1001, 1002
	for _, c := range []struct {
		mode      fs.FileMode
		owner, me int
		want      string // empty: accepted
	}{
		{0o600, we, we, ""},
		{0o400, we, we, ""},
		{0o640, we, we, "chmod 600 "},
		{0o604, we, we, "mode 0604"},
		{0o620, we, we, "chmod 600 "},
		{0o610, we, we, "chmod 600 "},
		{0o440, root, we, ""}, // a Secret, with fsGroup and defaultMode
		{0o640, root, we, ""}, // ssl-cert
		{0o444, root, we, "defaultMode: 0440"},
		{0o644, root, we, "fsGroup"},
		{0o660, root, we, "chmod 640 "},
		{0o650, root, we, "chmod 640 "},
		{0o440, root, root, ""},
		{0o600, root, root, ""},
		{0o644, root, root, "chmod 600 "},
		{0o660, root, root, "chmod 600 "},
		{0o600, they, we, "belongs to"},
		{0o440, they, we, "chown 1001 "},
		{0o600, they, root, "chown 0 "},
		{0o600, -1, we, ""}, // a system without users
		{0o644, -1, we, "chmod 600 "},
		{0o600 | fs.ModeNamedPipe, we, we, "no regular file"},
		{0o700 | fs.ModeDir, we, we, "no regular file"},
	} {
		err := checkKey("/etc/tls.key", c.mode, c.owner, c.me)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "/etc/tls.key")) {
			t.Errorf("mode %o of %d for %d: %v, want %q", c.mode, c.owner, c.me, err, c.want)
		}
	}
}

// TestAKeyOfAnother: the file itself is asked, not its name.
func TestAKeyOfAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := Key(file); err != nil {
		t.Error(err)
	}
	give(t, path, stranger)
	if err := Key(file); err == nil || !strings.Contains(err.Error(), "uid 54321") {
		t.Error(err)
	}
}

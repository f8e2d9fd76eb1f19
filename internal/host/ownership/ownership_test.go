package ownership

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stranger is a user who is not the one that runs the tests.
const stranger = 54321

// give makes a path another user's, which only root can do.
func give(t *testing.T, path string, uid int) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	if err := os.Lchown(path, uid, -1); err != nil {
		t.Fatal(err)
	}
}

func directory(t *testing.T, mode fs.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dir")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPrivateRefusesWhatOthersMade(t *testing.T) {
	for name, c := range map[string]struct {
		path func(t *testing.T) string
		want []string // empty: accepted
	}{
		"ours":            {path: func(t *testing.T) string { return directory(t, 0o700) }},
		"open to a group": {path: func(t *testing.T) string { return directory(t, 0o750) }, want: []string{"0750", "0700", "rm -r"}},
		"sticky and open": {path: func(t *testing.T) string { return directory(t, 0o777|fs.ModeSticky) }, want: []string{"0777", "rm -r"}},
		"a link": {path: func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(directory(t, 0o700), path); err != nil {
				t.Fatal(err)
			}
			return path
		}, want: []string{"symbolic link", "rm -r"}},
		"a file": {path: func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}, want: []string{"no directory", "rm -r"}},
		"of another": {path: func(t *testing.T) string {
			path := directory(t, 0o700)
			give(t, path, stranger)
			return path
		}, want: []string{"belongs to uid 54321", "TMPDIR", "rm -r"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := c.path(t)
			err := Private(path)
			if len(c.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatal("accepted")
			}
			for _, part := range append(c.want, path) {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v does not say %q", err, part)
				}
			}
		})
	}
}

func TestKeepClosesOurOwnAndRefusesOthers(t *testing.T) {
	keep := func(t *testing.T, path string) error {
		t.Helper()
		handle, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer handle.Close()
		return Keep(handle)
	}
	for _, mode := range []fs.FileMode{0o700, 0o755, 0o777} {
		path := directory(t, mode)
		if err := keep(t, path); err != nil {
			t.Errorf("mode %o: %v", mode, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("mode %o became %v (%v), want 700", mode, info.Mode(), err)
		}
	}
	path := directory(t, 0o755)
	give(t, path, stranger)
	err := keep(t, path)
	if err == nil {
		t.Fatal("a directory of another user was taken")
	}
	for _, part := range []string{"uid 54321", fmt.Sprintf("chown -R %d %s", os.Geteuid(), path)} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
}

func TestExplainSaysWhoseItIs(t *testing.T) {
	path := directory(t, 0o700)
	denied := &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	if err := Explain(path, denied); !errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "chown") {
		t.Errorf("about what is ours: %v", err)
	}
	other := errors.New("something else")
	if err := Explain(path, other); !errors.Is(err, other) || err.Error() != other.Error() {
		t.Errorf("another error: %v", err)
	}
	give(t, path, stranger)
	hidden := filepath.Join(path, "kubeconfig")
	err := Explain(hidden, denied)
	for _, part := range []string{"uid 54321", "sudo chown -R", path} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
}

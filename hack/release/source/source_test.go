package source

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is one of one commit, made at a known time.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "SOURCE_DATE_EPOCH"} {
		t.Setenv(name, "")
		_ = os.Unsetenv(name)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	t.Setenv("GIT_COMMITTER_DATE", "2026-02-03T04:05:06Z")
	t.Setenv("GIT_AUTHOR_DATE", "2026-02-03T04:05:06Z")
	write(t, dir, "one")
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	git(t, dir, "config", "user.name", "Nobody")
	git(t, dir, "config", "user.email", "nobody@example.org")
	commit(t, dir)
	return dir
}

func write(t *testing.T, dir, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, dir string) {
	t.Helper()
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "--message", "A commit")
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func read(t *testing.T, dir, version string) Source {
	t.Helper()
	s, err := Read(t.Context(), dir, version)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRead: version, commit and time are those of git, unless somebody says others.
func TestRead(t *testing.T) {
	dir := repository(t)
	head := git(t, dir, "rev-parse", "HEAD")
	short := git(t, dir, "rev-parse", "--short", "HEAD")
	s := read(t, dir, "")
	if s.Commit != head || s.Version != "v0.0.0-dev."+short || s.Dirty || s.Time.Format("2006-01-02 15:04:05") != "2026-02-03 04:05:06" {
		t.Errorf("without a tag: %+v", s)
	}
	git(t, dir, "tag", "v0.1.0")
	if s = read(t, dir, ""); s.Version != "v0.1.0" {
		t.Errorf("with a tag: %+v", s)
	}
	write(t, dir, "two")
	if s = read(t, dir, ""); s.Version != "v0.1.0-dirty" || !s.Dirty {
		t.Errorf("with a change: %+v", s)
	}
	commit(t, dir)
	if s = read(t, dir, ""); s.Version != "v0.1.0-1-g"+git(t, dir, "rev-parse", "--short", "HEAD") {
		t.Errorf("a commit after the tag: %+v", s)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1")
	if s = read(t, dir, "v1.2.3"); s.Version != "v1.2.3" || s.Time.Unix() != 1 {
		t.Errorf("with both given: %+v", s)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if _, err := Read(t.Context(), dir, ""); err == nil || !strings.HasPrefix(err.Error(), "SOURCE_DATE_EPOCH: ") {
		t.Errorf("with a time that is none: %v", err)
	}
	if _, err := Read(t.Context(), t.TempDir(), ""); err == nil {
		t.Error("a folder without git has a commit")
	}
}

// TestRelease: only a committed tree and a version that is one may be released, and a version is one commit.
func TestRelease(t *testing.T) {
	dir := repository(t)
	refused := func(version, part string) {
		t.Helper()
		err := read(t, dir, version).Release(t.Context())
		if part == "" && err != nil || part != "" && (err == nil || !strings.Contains(err.Error(), part)) {
			t.Errorf("%q: %v, want %q", version, err, part)
		}
	}
	refused("v0.1.0", "")
	refused("v0.1.0-rc.1", "")
	for _, version := range []string{"", "0.1.0", "v0.1", "v0.1.0+build", "v01.0.0", "next"} {
		refused(version, "VERSION: ")
	}
	git(t, dir, "tag", "--annotate", "--message", "Released", "v0.1.0")
	refused("v0.1.0", "")
	write(t, dir, "two")
	refused("v0.1.0", "not committed")
	commit(t, dir)
	refused("v0.1.0", "the tag v0.1.0 is of commit ")
	refused("v0.2.0", "")
}

// TestNames: what names of files, tags of images and Debian make of a version.
func TestNames(t *testing.T) {
	for version, want := range map[string][2]string{
		"v0.1.0":                  {"0.1.0", "0.1.0"},
		"v0.1.0-rc.1":             {"0.1.0-rc.1", "0.1.0~rc.1"},
		"v0.1.0-3-gabc1234":       {"0.1.0-3-gabc1234", "0.1.0+3.gabc1234"},
		"v0.1.0-rc.1-3-gabc1234":  {"0.1.0-rc.1-3-gabc1234", "0.1.0~rc.1+3.gabc1234"},
		"v0.1.0-3-gabc1234-dirty": {"0.1.0-3-gabc1234-dirty", "0.1.0+3.gabc1234.dirty"},
		"v0.0.0-dev.4b62ce0":      {"0.0.0-dev.4b62ce0", "0.0.0~dev.4b62ce0"},
	} {
		s := Source{Version: version}
		if got := [2]string{s.Plain(), s.Debian()}; got != want {
			t.Errorf("%s: %v, want %v", version, got, want)
		}
	}
}

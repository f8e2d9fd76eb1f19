package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// Source is a version of the repository.
type Source struct {
	// Root is the folder of the repository.
	Root string
	// Version begins with v; Commit is that of the tree, and Time when it was made. Builds of one commit have no other time in them.
	Version, Commit string
	Time            time.Time
	// Described reports whether git describes the version, because nobody has given one.
	Described bool
	// Dirty reports whether the tree differs from the commit.
	Dirty bool
}

// Read asks git. A version that is not given is described by the last tag. SOURCE_DATE_EPOCH, where it is set, goes before the commit's time.
func Read(ctx context.Context, root, version string) (Source, error) {
	s := Source{Root: root, Version: version}
	git := func(args ...string) string {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	s.Commit = git("rev-parse", "HEAD")
	if s.Commit == "" {
		return s, fmt.Errorf("%s: git knows no commit of it", root)
	}
	s.Dirty = git("status", "--porcelain") != ""
	if s.Version == "" {
		s.Described = true
		s.Version = described(git("describe", "--tags", "--match", "v*", "--always", "--dirty"))
	}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		seconds = git("log", "-1", "--format=%ct")
	}
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return s, fmt.Errorf("SOURCE_DATE_EPOCH: %q is not a number of seconds since 1970", seconds)
	}
	s.Time = time.Unix(at, 0).UTC()
	return s, nil
}

// described makes a version of what git describe says: a commit that no tag leads to is one on the way to the first version.
func described(text string) string {
	if strings.HasPrefix(text, "v") {
		return text
	}
	return "v0.0.0-dev." + strings.ReplaceAll(text, "-", ".")
}

// Release says why this is none that may be released; nil: it is one.
func (s Source) Release(ctx context.Context) error {
	var errs []error
	switch {
	case s.Described:
		errs = append(errs, errors.New("VERSION: which one is to be released? Name it, such as v0.1.0"))
	case semver.Canonical(s.Version) != s.Version || s.Version == "":
		errs = append(errs, fmt.Errorf("VERSION: %q is no semantic version, such as v0.1.0", s.Version))
	}
	if s.Dirty {
		errs = append(errs, errors.New("the tree has changes that are not committed: git status lists them"))
	}
	tagged, err := exec.CommandContext(ctx, "git", "-C", s.Root, "rev-parse", "--quiet", "--verify", "refs/tags/"+s.Version+"^{commit}").Output()
	if commit := strings.TrimSpace(string(tagged)); err == nil && commit != s.Commit {
		errs = append(errs, fmt.Errorf("VERSION: the tag %s is of commit %s, and this is %s", s.Version, commit, s.Commit))
	}
	return errors.Join(errs...)
}

// Plain is the version without v, as names of files and tags of images have it. What is allowed in neither becomes a hyphen.
func (s Source) Plain() string {
	return notInNames.ReplaceAllString(strings.TrimPrefix(s.Version, "v"), "-")
}

var notInNames = regexp.MustCompile(`[^0-9A-Za-z.-]`)

// afterTag is what git describe says of commits after a tag.
var afterTag = regexp.MustCompile(`^(.*)-([0-9]+-g[0-9a-f]+(?:-dirty)?)$`)

// Debian is the version as Debian sorts it: 0.1.0~rc.1 comes before 0.1.0, and 0.1.0+3.gabcdef after it.
func (s Source) Debian() string {
	v := strings.TrimPrefix(s.Version, "v")
	if m := afterTag.FindStringSubmatch(v); m != nil {
		return strings.Replace(m[1], "-", "~", 1) + "+" + strings.ReplaceAll(m[2], "-", ".")
	}
	before, after, pre := strings.Cut(v, "-")
	if !pre {
		return before
	}
	return before + "~" + strings.ReplaceAll(after, "-", ".")
}

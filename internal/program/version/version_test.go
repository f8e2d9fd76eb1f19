package version

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestOf: what the build sets goes before what the go command records, and what nobody knows is said to be unknown.
func TestOf(t *testing.T) {
	const commit = "4b62ce0a1b2c3d4e5f60718293a4b5c6d7e8f901"
	recorded := &debug.BuildInfo{Main: debug.Module{Version: "v0.0.9"}, Settings: []debug.BuildSetting{{Key: "-trimpath", Value: "true"}, {Key: "vcs.revision", Value: commit}}}
	for _, c := range []struct {
		set, want Build
	}{
		{Build{}, Build{Version: "v0.0.9", Commit: commit}},
		{Build{Version: "v0.1.0", Commit: "abc"}, Build{Version: "v0.1.0", Commit: "abc"}},
	} {
		got := c.set
		got.complete(recorded)
		if got != c.want {
			t.Errorf("%+v with what the go command records: %+v, want %+v", c.set, got, c.want)
		}
	}
	defer func(release, of string) { Release, Commit = release, of }(Release, Commit)
	Release, Commit = "v0.1.0", commit
	platform := runtime.GOOS + "/" + runtime.GOARCH
	if got, want := Of(), (Build{Version: "v0.1.0", Commit: commit, Go: runtime.Version(), Platform: platform}); got != want {
		t.Errorf("a release: %+v, want %+v", got, want)
	}
	if got, want := Of().String(), "v0.1.0 (commit 4b62ce0a1b2c, "+runtime.Version()+", "+platform+")"; got != want {
		t.Errorf("a release prints %q, want %q", got, want)
	}
	if got := (Build{Version: "v0.1.0", Commit: unknown, Go: "go1", Platform: "a/b"}).String(); got != "v0.1.0 (commit (unknown), go1, a/b)" {
		t.Errorf("without a commit: %q", got)
	}
}

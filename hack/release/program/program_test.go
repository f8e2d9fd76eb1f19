package program

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/hack/release/source"
)

func TestParsePlatforms(t *testing.T) {
	got, err := ParsePlatforms("linux/amd64,darwin/arm64")
	if err != nil || !slices.Equal(got, []Platform{{"linux", "amd64"}, {"darwin", "arm64"}}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, list := range []string{"", "linux", "windows/amd64", "linux/amd64,", "linux/amd64,linux/amd64"} {
		if got, err := ParsePlatforms(list); err == nil {
			t.Errorf("%q: %v", list, got)
		}
	}
}

// TestLinkerFlags: a release says its version as `make build` does.
func TestLinkerFlags(t *testing.T) {
	makefile, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("$(MODULE)", module, "$(VERSION)", "v0.1.0", "$(COMMIT)", "abc")
	for line := range strings.Lines(string(makefile)) {
		if flags, found := strings.CutPrefix(line, "LDFLAGS  = "); found {
			if got := linkerFlags(source.Source{Version: "v0.1.0", Commit: "abc"}); got != strings.TrimSpace(want.Replace(flags)) {
				t.Errorf("%s, and the Makefile has %s", got, flags)
			}
			return
		}
	}
	t.Error("the Makefile has no LDFLAGS")
}

package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// Release and Commit are set when Farrier is built (-ldflags -X); what is not set comes from what the go command records of the module.
var Release, Commit string

// unknown stands for what neither the build nor the go command recorded.
const unknown = "(unknown)"

// shortCommit is how much of a commit a line shows: enough to find it.
const shortCommit = 12

// Build says of what a program is built.
type Build struct {
	// Version is the release, or the last one and how many commits came after it.
	Version string `json:"version"`
	Commit  string `json:"commit"`
	// Go is the version of the Go toolchain.
	Go string `json:"go"`
	// Platform is the operating system and the architecture that the program is for.
	Platform string `json:"platform"`
}

// Of returns what the running program is built of.
func Of() Build {
	b := Build{Version: Release, Commit: Commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.complete(info)
	}
	b.Version, b.Commit = cmp.Or(b.Version, unknown), cmp.Or(b.Commit, unknown)
	return b
}

// complete adds what the go command records and the build has not set.
func (b *Build) complete(info *debug.BuildInfo) {
	b.Version = cmp.Or(b.Version, info.Main.Version)
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = cmp.Or(b.Commit, s.Value)
		}
	}
}

// String is one line for people, without the name of the program.
func (b Build) String() string {
	commit := b.Commit
	if len(commit) > shortCommit && commit != unknown {
		commit = commit[:shortCommit]
	}
	return fmt.Sprintf("%s (commit %s, %s, %s)", b.Version, commit, b.Go, b.Platform)
}

// String is the version of the running program.
func String() string { return Of().Version }

package program

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/farrier-dev/farrier/hack/release/source"
)

// Names of the programs.
const (
	Farrier    = "farrier"
	Manager    = "farrier-manager"
	BootServer = "farrier-bootserver"
	Probe      = "metalprobe"
)

// Platform is an operating system and an architecture, as Go names them.
type Platform struct{ OS, Arch string }

// String is the platform as people write it.
func (p Platform) String() string { return p.OS + "/" + p.Arch }

// Platforms are all that Farrier is released for.
var Platforms = []Platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// ParsePlatforms reads a list such as linux/amd64,linux/arm64.
func ParsePlatforms(list string) ([]Platform, error) {
	var platforms []Platform
	for text := range strings.SplitSeq(list, ",") {
		system, arch, _ := strings.Cut(text, "/")
		p := Platform{system, arch}
		if !slices.Contains(Platforms, p) {
			return nil, fmt.Errorf("%q is none of %v", text, Platforms)
		}
		if slices.Contains(platforms, p) {
			return nil, fmt.Errorf("%s is there twice", p)
		}
		platforms = append(platforms, p)
	}
	return platforms, nil
}

// Programs are those that run on the platform: metalprobe asks Linux what a machine is made of.
func (p Platform) Programs() []string {
	programs := []string{Farrier, Manager, BootServer}
	if p.OS == "linux" {
		programs = append(programs, Probe)
	}
	return programs
}

// module is the path of what is built.
const module = "github.com/farrier-dev/farrier"

// Build builds the programs of a platform into a folder, and returns where each is.
func Build(ctx context.Context, s source.Source, p Platform, folder string) (map[string]string, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", linkerFlags(s), "-o", folder + string(filepath.Separator)}
	built := map[string]string{}
	for _, name := range p.Programs() {
		args = append(args, "./cmd/"+name)
		built[name] = filepath.Join(folder, name)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = s.Root
	// What else would change the bytes is set to what it is by default. The module proxy, and where caches are, does not.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off", "GOFIPS140=off")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go build for %s: %w", p, err)
	}
	return built, nil
}

// linkerFlags are those of `make build`.
func linkerFlags(s source.Source) string {
	const at = module + "/internal/program/version."
	return "-s -w -X " + at + "Release=" + s.Version + " -X " + at + "Commit=" + s.Commit
}

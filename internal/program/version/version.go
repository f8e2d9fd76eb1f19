package version

import "runtime/debug"

// Release is set when a release is built (-ldflags -X); otherwise the module's own version is shown.
var Release string

// String is the version of the running program.
func String() string {
	if Release != "" {
		return Release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}

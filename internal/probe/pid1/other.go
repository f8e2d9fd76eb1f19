//go:build !linux

package pid1

// DiscoverName is the name that the second process is started under.
const DiscoverName = "farrier-discovery"

// Is reports whether this process is /init of a discovery image, which is Linux.
func Is() bool { return false }

// Supervise is never reached.
func Supervise() {}

// Discover is never reached.
func Discover() int { return 1 }

package profile

import (
	"slices"
	"strings"
)

// Granted reports whether a list of namespaces, separated by commas, names one. An asterisk
// is all of them.
func Granted(list, namespace string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(name string) bool {
		name = strings.TrimSpace(name)
		return name == "*" || name != "" && name == namespace
	})
}

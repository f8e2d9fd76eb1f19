package records

import (
	"errors"
	"strings"
)

// Kinds of keys that are not those of boot objects.
const (
	kindProfile    = "Profile"
	kindBefore     = "ProfileBefore"
	kindAssignment = "Assignment"
	kindInstance   = "Instance"
	kindImage      = "Image"
	kindSettings   = "Settings"
)

// cutKey cuts a key into its kind and the name of what it is about.
func cutKey(key string) (kind, name string) {
	kind, name, _ = strings.Cut(key, "/")
	return kind, name
}

// isMachine reports whether keys of a kind are those of machines.
func isMachine(kind string) bool {
	switch kind {
	case "", kindProfile, kindBefore, kindAssignment, kindInstance, kindImage, kindSettings:
		return false
	}
	return true
}

// cutName cuts "<namespace>/<name>".
func cutName(text string) (namespace, name string, err error) {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return "", "", errors.New("the key names no object of a namespace")
	}
	return namespace, name, nil
}

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

// OfProfile is the key of a profile as it is now.
func OfProfile(namespace, name string) string { return kindProfile + "/" + namespace + "/" + name }

// OfAssignment is the key of an assignment.
func OfAssignment(namespace, name string) string {
	return kindAssignment + "/" + namespace + "/" + name
}

// Profile returns which profile, as it is now, a key is about, and reports whether it is about one.
func Profile(key string) (namespace, name string, ok bool) { return objectOf(kindProfile, key) }

// Assignment returns which assignment a key is about, and reports whether it is about one.
func Assignment(key string) (namespace, name string, ok bool) { return objectOf(kindAssignment, key) }

// OfImage is the key of what an owner has pinned.
func OfImage(owner string) string { return kindImage + "/" + owner }

// Image returns which owner's image a key is about, and reports whether it is about one.
func Image(key string) (owner string, ok bool) {
	kind, owner := cutKey(key)
	return owner, kind == kindImage && owner != ""
}

func objectOf(kind, key string) (namespace, name string, ok bool) {
	is, object := cutKey(key)
	namespace, name, err := cutName(object)
	return namespace, name, is == kind && err == nil
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

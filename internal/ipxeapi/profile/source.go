package profile

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

const (
	// MaxScript bounds a template and what it renders to, in bytes.
	MaxScript = 64 << 10
	// MaxConfig bounds one config, and MaxConfigs all of a profile, in bytes.
	MaxConfig, MaxConfigs = 1 << 20, 4 << 20
)

// Source is a profile as it was written, its contents resolved.
type Source struct {
	Namespace, Name string
	// UID tells a profile from a later one of the same name.
	UID    string
	Script string
	// Configs by name.
	Configs map[string]Content
	// Version is the resource version of the newest object that it was made of; 0: of none. It is no part of the revision.
	Version uint64
}

// Content is one config.
type Content struct {
	// Bytes is what is served, or inserted.
	Bytes []byte
	// Type is the media type it is served as; empty: told from the bytes.
	Type string
	// Inserted content has no URL: the script gets the text itself.
	Inserted bool
	// Err says why there is nothing to serve. Machines get no script then.
	Err string
}

// revision changes with everything that a machine could be given.
func (s Source) revision() string {
	sum := sha256.New()
	part := func(text string) { fmt.Fprintf(sum, "%d:%s", len(text), text) }
	part(s.UID)
	part(s.Script)
	for _, name := range slices.Sorted(maps.Keys(s.Configs)) {
		part(name)
		part(string(s.Configs[name].Bytes))
		part(s.Configs[name].Type)
		part(strconv.FormatBool(s.Configs[name].Inserted))
		part(s.Configs[name].Err)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// ConfigID is the UUID under which a config of a profile is served (RFC 9562 §5.4 in form).
// It is derived, so it survives edits, restarts and a wiped status, and goes with its name.
func ConfigID(key []byte, profileUID, name string) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "config\x00%s\x00%s", profileUID, name)
	b := mac.Sum(nil)[:16]
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

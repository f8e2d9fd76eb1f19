package profile

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/farrier-dev/farrier/internal/identity"
)

// Profile is compiled: it can be rendered for any machine. It is never changed, but for
// what is remembered of a rendering that was refused.
type Profile struct {
	Namespace, Name, Revision string
	// Version is that of the source.
	Version uint64

	entry      string
	uid        string
	script     string // as it was written
	statements []statement
	parts      []part // in place of the statements, where they only insert
	broken     error  // what keeps machines from the script
	configs    map[string]Content
	ids        map[string]string // by name, of those that have a URL
	served     map[string]served // the same

	// refused is why the script could not be rendered for some machine.
	refused atomic.Pointer[string]
}

// Entry is what the profile is called in the record of a boot: Profile/namespace/name.
func (p *Profile) Entry() string { return p.entry }

// Key is namespace/name.
func (p *Profile) Key() string { return p.Namespace + "/" + p.Name }

func (p *Profile) key() profileKey { return profileKey{p.Namespace, p.Name} }

// IDs are the UUIDs under which configs are served, by name.
func (p *Profile) IDs() map[string]string { return maps.Clone(p.ids) }

// Source is what the profile was compiled of. Its maps are not to be changed.
func (p *Profile) Source() Source {
	return Source{Namespace: p.Namespace, Name: p.Name, UID: p.uid, Script: p.script, Configs: p.configs, Version: p.Version}
}

// Compile checks a profile. The key derives the IDs of its configs. An error is about the
// script, in words for its author; what is wrong with a content is the content's own Err.
func Compile(s Source, key []byte) (*Profile, error) {
	ids := map[string]string{}
	for name, content := range s.Configs {
		if !content.Inserted {
			ids[name] = ConfigID(key, s.UID, name)
		}
	}
	return compileWith(s, s.revision(), ids)
}

// CompileAs compiles a profile again whose revision and IDs somebody else has derived, who has the key.
func CompileAs(s Source, revision string, ids map[string]string) (*Profile, error) {
	if revision == "" {
		return nil, errors.New("the profile has no revision")
	}
	served := map[string]string{}
	for name, content := range s.Configs {
		if content.Inserted {
			continue
		}
		id := ids[name]
		if canonical, err := identity.UUID(id); err != nil || canonical != id {
			return nil, fmt.Errorf("the ID of config %q is no UUID", clip(name, maxShown))
		}
		served[name] = id
	}
	return compileWith(s, revision, served)
}

func compileWith(s Source, revision string, ids map[string]string) (*Profile, error) {
	script, err := withMagic(s.Script)
	if err != nil {
		return nil, err
	}
	p := &Profile{
		Namespace: s.Namespace, Name: s.Name, Revision: revision, Version: s.Version, entry: "Profile/" + s.Namespace + "/" + s.Name,
		uid: s.UID, script: s.Script, configs: maps.Clone(s.Configs), ids: ids, served: map[string]served{},
	}
	for name := range ids {
		content := s.Configs[name]
		p.served[name] = served{[]string{content.mediaType()}, []string{content.etag()}, []string{strconv.Itoa(len(content.Bytes))}}
	}
	if p.statements, err = parseScript(script, s.Configs, p.ids); err != nil {
		return nil, err
	}
	p.parts, p.broken = partsOf(p.statements), brokenContent(p.configs)
	return p, nil
}

const magic = "#!ipxe"

// withMagic puts what iPXE knows a script by at its very beginning. A body without it is run
// by BIOS iPXE as a raw boot program, which hangs the machine.
func withMagic(script string) (string, error) {
	if len(script) > MaxScript {
		return "", fmt.Errorf("the script is longer than %d bytes", MaxScript)
	}
	script = strings.TrimLeft(strings.TrimPrefix(script, "\ufeff"), " \t\r\n")
	script = strings.ReplaceAll(script, "\r\n", "\n")
	line, rest, _ := strings.Cut(script, "\n")
	if first := strings.TrimSpace(line); first == magic || first == "# ipxe" || first == "#ipxe" || first == "#! ipxe" || first == "# !ipxe" {
		return magic + "\n" + rest, nil
	}
	if rest, ok := strings.CutPrefix(script, magic); ok && (rest[0] == ' ' || rest[0] == '\t') {
		return script, nil
	}
	return "", fmt.Errorf("the script does not begin with %s", magic)
}

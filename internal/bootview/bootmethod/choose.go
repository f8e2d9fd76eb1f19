package bootmethod

import (
	"slices"
	"strings"

	"github.com/farrier-dev/farrier/internal/bootview/bootfile"
)

// Made is a boot config that exists, as far as it decides how a machine boots.
type Made struct {
	Method
	// URL is that of the file that firmware fetches; empty: the method has none, or the boot config names none.
	URL string
}

// Made reads a boot config of the method.
func (m Method) Made(obj Object) Made {
	made := Made{Method: m}
	if c := m.config(obj); c != nil {
		made.URL = c.FileURL
	}
	return made
}

// boots reports whether a machine could boot by it: firmware that fetches a file itself needs its URL.
func (m Made) boots() bool { return m.File == nil || m.URL != "" }

// ours reports whether its file is one of the boot server's.
func (m Made) ours() bool { return m.File != nil && strings.Contains(m.URL, m.File.Folder) }

// URLFor is the URL that the BMC is given. With a token, which nobody else has seen, it is for one machine; empty: what DHCP says.
func (m Made) URLFor(token string) string {
	if token == "" || !m.ours() {
		return m.URL
	}
	before, after, _ := strings.Cut(m.URL, m.File.Folder)
	return before + m.File.Folder + bootfile.TokenMark + token + "/" + after
}

// Choose returns by which of the boot configs of one machine it boots: by the last of them, in the order of Methods, whose boot override
// the BMC offers, else by the first. Without a boot config of ours it is the first method.
func Choose(made []Made, offers func(target string) bool) Made {
	made = slices.DeleteFunc(slices.Clone(made), func(m Made) bool { return !m.boots() })
	for _, m := range slices.Backward(made) {
		if offers(m.Target) {
			return m
		}
	}
	if len(made) == 0 {
		return Made{Method: Methods[0]}
	}
	return made[0]
}

// ChooseOurs is Choose among those whose file is one of the boot server's; false: there is none.
func ChooseOurs(made []Made, offers func(target string) bool) (Made, bool) {
	made = slices.DeleteFunc(slices.Clone(made), func(m Made) bool { return !m.ours() })
	if len(made) == 0 {
		return Made{}, false
	}
	return Choose(made, offers), true
}

// FileNames are what firmware fetches itself, for people.
func FileNames() string {
	var names []string
	for _, m := range Methods {
		if m.File != nil {
			names = append(names, m.File.Name)
		}
	}
	return strings.Join(names, " or ")
}

package bootview

import "strings"

// artifactNames are what the lines of a script call what they load.
var artifactNames = []string{"kernel", "initrd", "squashfs", "module", "imgfetch"}

// ArtifactName is what the machine's script calls the artifact whose URL holds mark, a part that nothing else holds, such as the
// hexadecimal digits of its digest: kernel, initrd, squashfs, module or imgfetch; empty: its script does not speak of it.
func (m *Machine) ArtifactName(mark string) string {
	if m == nil || mark == "" || m.Script().IsZero() {
		return ""
	}
	text := m.Script().value().text
	at := strings.Index(text, mark)
	if at < 0 {
		return ""
	}
	line := strings.TrimLeft(text[strings.LastIndexByte(text[:at], '\n')+1:at], " \t")
	word, rest, _ := strings.Cut(line, " ")
	if word == "set" { // set kernel-url …
		word, _, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
		word = strings.TrimSuffix(word, "-url")
	}
	for _, name := range artifactNames {
		if word == name {
			return name // and not a part of the script, which would be kept for it
		}
	}
	return ""
}

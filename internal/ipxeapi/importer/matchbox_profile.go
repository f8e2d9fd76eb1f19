package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
	"text/template"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
)

// profileFor makes the Profile of a group. Groups share one unless the templates are filled in with what
// is the group's own.
func (m *matchbox) profileFor(g *group, p *matchboxProfile) (name string, ok bool) {
	contents, own, ok := m.contents(g, p)
	if !ok {
		return "", false
	}
	key, wanted := p.ID, p.ID
	if own {
		key, wanted = p.ID+"\x00"+g.ID, p.ID+"-"+g.ID
	}
	if made, known := m.made[key]; known {
		return made, made != ""
	}
	made := &ipxev1.Profile{
		TypeMeta:   metav1.TypeMeta{APIVersion: ipxev1.GroupVersion.String(), Kind: "Profile"},
		ObjectMeta: metav1.ObjectMeta{Namespace: m.options.Namespace},
		Spec:       ipxev1.ProfileSpec{IPXE: m.script(p, contents), AdditionalContent: contents},
	}
	m.made[key] = ""
	if !m.addProfile(p.file, made) {
		return "", false
	}
	made.Name = m.name("Profile", p.file, wanted)
	m.made[key] = made.Name
	m.note(Translated, p.file, "Profile %s/%s", made.Namespace, made.Name)
	for _, part := range p.parts() {
		if part.id != "" {
			m.note(Translated, path.Join(part.name, part.id), "content %q of Profile %s/%s", part.name, made.Namespace, made.Name)
		}
	}
	return made.Name, true
}

// part is a config of a profile: its name, which is that of its folder too, and its file there.
type part struct{ name, id string }

func (p *matchboxProfile) parts() []part {
	return []part{{"ignition", p.IgnitionID}, {"generic", p.GenericID}, {"cloud", p.CloudID}}
}

// contents are the configs of a profile; own says that they are of this group alone.
func (m *matchbox) contents(g *group, p *matchboxProfile) (contents []ipxev1.AdditionalContent, own, ok bool) {
	for _, part := range p.parts() {
		if part.id == "" {
			continue
		}
		file := path.Join(part.name, part.id)
		raw, err := m.read(file)
		if err != nil {
			m.note(Refused, p.file, "%s_id: %v", part.name, err)
			return nil, false, false
		}
		text := string(raw)
		isJSON := part.name == "ignition" && (path.Ext(file) == ".ign" || path.Ext(file) == ".ignition")
		if !isJSON && strings.Contains(text, "{{") {
			if text, err = fill(text, g); err != nil {
				m.note(Refused, file, "for %s: %v", g.file, err)
				return nil, false, false
			}
			own = true
		}
		c := ipxev1.AdditionalContent{Name: part.name, Exposed: true, Inline: &text}
		if part.name == "ignition" && !isJSON {
			if variant(text) == "" {
				m.note(Refused, file, "a Container Linux Config: translate it to Butane, which names its variant")
				return nil, false, false
			}
			c.Transform = ipxev1.TransformButane
		}
		contents = append(contents, c)
	}
	return contents, own, true
}

func variant(text string) string {
	var head struct {
		Variant string `json:"variant"`
	}
	if err := yaml.Unmarshal([]byte(text), &head); err != nil {
		return ""
	}
	return head.Variant
}

// fill renders a template of matchbox with the group's metadata and selectors, as matchbox does for each
// request. What only a request has cannot be known here.
func fill(text string, g *group) (string, error) {
	if strings.Contains(text, ".request") {
		return "", fmt.Errorf("the template uses .request: configs are the same for all machines of a profile")
	}
	t, err := template.New("config").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", err
	}
	data := map[string]any{}
	for key, value := range g.Metadata {
		data[key] = value
	}
	for key, value := range g.Selector {
		data[strings.ToLower(key)] = value
	}
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return "", err
	}
	return out.String(), nil
}

// ownURL is a URL of matchbox in a kernel's arguments, with its query. anyURL is whatever URL stands there; a comma ends it, as in a list.
var (
	ownURL = regexp.MustCompile(`(https?://[^/\s'"]+)/(ignition|generic|cloud|metadata)(\?[^\s'"]*)?`)
	anyURL = regexp.MustCompile(`(https?://[^/\s'",]+)(/[^\s'",]*)?`)
)

// server is where matchbox is reached, as the arguments of a profile say it: the base of its own URLs there.
func (p *matchboxProfile) server() string {
	for _, arg := range p.Boot.Args {
		if match := ownURL.FindStringSubmatch(arg); match != nil {
			return match[1]
		}
	}
	return ""
}

// left names what still is fetched from matchbox, or may be: its files of /assets, and whatever else is of the same server. Files are led to where
// they are now, if that is known.
func (m *matchbox) left(p *matchboxProfile, arg string) string {
	own := p.server()
	return anyURL.ReplaceAllStringFunc(arg, func(url string) string {
		match := anyURL.FindStringSubmatch(url)
		file, isAsset := strings.CutPrefix(match[2], "/assets/")
		switch {
		case ownURL.MatchString(url): // said already
		case isAsset && match[1] == own && m.options.AssetsURL != "":
			return strings.TrimRight(m.options.AssetsURL, "/") + "/" + file
		case isAsset:
			m.note(Changed, p.file, "argument %q still points at %s, whose /assets are not served here: put the file behind a web server%s", arg, match[1], assetsFlag(own))
		case match[1] == own:
			m.note(Changed, p.file, "argument %q still points at %s", arg, match[1])
		}
		return url
	})
}

// assetsFlag says how files are found that are known to be matchbox's own.
func assetsFlag(own string) string {
	if own == "" {
		return " and change the argument"
	}
	return " and name it (--assets-url)"
}

// script writes the script that matchbox would answer, its own URLs replaced.
func (m *matchbox) script(p *matchboxProfile, contents []ipxev1.AdditionalContent) string {
	has := map[string]bool{}
	for _, c := range contents {
		has[c.Name] = true
	}
	var b strings.Builder
	b.WriteString("#!ipxe\nkernel " + m.asset(p, p.Boot.Kernel))
	for _, arg := range p.Boot.Args {
		b.WriteString(" " + m.left(p, ownURL.ReplaceAllStringFunc(literal(arg), func(url string) string {
			what := ownURL.FindStringSubmatch(url)[2]
			if !has[what] {
				m.note(Changed, p.file, "argument %q: there is no %s here, so the URL stays", arg, what)
				return url
			}
			return "{{ ." + what + " }}"
		})))
	}
	b.WriteByte('\n')
	for _, initrd := range p.Boot.Initrd {
		b.WriteString("initrd " + m.asset(p, initrd) + "\n")
	}
	b.WriteString("boot\n")
	return b.String()
}

// asset is a file that matchbox serves itself, or one elsewhere.
func (m *matchbox) asset(p *matchboxProfile, written string) string {
	words := strings.Fields(literal(written)) // an initrd may have options before it
	for i, word := range words {
		words[i] = m.left(p, word)
		rest, own := strings.CutPrefix(word, "/assets/")
		switch {
		case !own:
		case m.options.AssetsURL == "":
			m.note(Changed, p.file, "%s is not served here: put it behind a web server and name it (--assets-url)", word)
		default:
			words[i] = strings.TrimRight(m.options.AssetsURL, "/") + "/" + rest
		}
	}
	return strings.Join(words, " ")
}

// literal keeps what looks like a template as it is: matchbox does not fill in arguments.
func literal(text string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	quoted, err := json.Marshal("{{")
	if err != nil { // a string can always be marshalled
		return text
	}
	return strings.ReplaceAll(text, "{{", "{{ "+string(quoted)+" }}")
}

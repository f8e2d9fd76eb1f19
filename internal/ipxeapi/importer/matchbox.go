package importer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

// maxFile bounds a file of matchbox.
const maxFile = 4 << 20

// group is what matchbox knows machines by (groups/*.json).
type group struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Profile  string            `json:"profile"`
	Selector map[string]string `json:"selector"`
	Metadata map[string]any    `json:"metadata"`

	file     string
	selector assignment.Selector
	made     *ipxev1.Assignment
}

// matchboxProfile is profiles/*.json.
type matchboxProfile struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Boot struct {
		Kernel string   `json:"kernel"`
		Initrd []string `json:"initrd"`
		Args   []string `json:"args"`
	} `json:"boot"`
	IgnitionID string `json:"ignition_id"`
	CloudID    string `json:"cloud_id"`
	GenericID  string `json:"generic_id"`

	file   string
	wanted bool // by a group
}

// Matchbox imports a data folder of matchbox.
func Matchbox(dir fs.FS, o Options) (*Result, error) {
	m := &matchbox{Result: newResult(o), dir: dir, used: map[string]bool{}, made: map[string]string{}, profiles: map[string]*matchboxProfile{}}
	groups, err := m.readGroups()
	if err != nil {
		return nil, err
	}
	if err := m.readProfiles(); err != nil {
		return nil, err
	}
	if len(groups)+len(m.profiles) == 0 {
		return nil, errors.New("no groups/*.json and no profiles/*.json: this is no data folder of matchbox")
	}
	var assigned []*group
	for _, g := range groups {
		if m.assign(g) {
			assigned = append(assigned, g)
		}
	}
	m.rank(assigned)
	err = m.unused()
	return m.finish(), err
}

type matchbox struct {
	*Result
	dir      fs.FS
	used     map[string]bool // files
	profiles map[string]*matchboxProfile
	made     map[string]string // names of Profiles, by profile and what fills its templates
}

// read reads a file and remembers that it was.
func (m *matchbox) read(name string) ([]byte, error) {
	m.used[name] = true
	f, err := m.dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("longer than %d bytes", maxFile)
	}
	return content, err
}

// decode reads JSON; fields that are not known mean something that would be lost.
func (m *matchbox) decode(name string, into any) bool {
	content, err := m.read(name)
	if err == nil {
		err = decode(content, into)
	}
	if err != nil {
		m.note(Refused, name, "%v", err)
	}
	return err == nil
}

func (m *matchbox) readGroups() ([]*group, error) {
	files, err := fs.Glob(m.dir, "groups/*.json")
	if err != nil {
		return nil, err
	}
	var groups []*group
	for _, file := range files {
		g := &group{file: file}
		if !m.decode(file, g) {
			continue
		}
		if g.ID == "" {
			g.ID = strings.TrimSuffix(path.Base(file), ".json")
		}
		g.selector = assignment.NewSelector(g.Selector, nil)
		if key, impossible := g.selector.Impossible(); impossible {
			m.note(Refused, file, "selector.%s: there is no value that a machine could have", key)
			continue
		}
		groups = append(groups, g)
	}
	return groups, nil
}

func (m *matchbox) readProfiles() error {
	files, err := fs.Glob(m.dir, "profiles/*.json")
	for _, file := range files {
		p := &matchboxProfile{file: file}
		if !m.decode(file, p) {
			continue
		}
		if p.ID == "" {
			p.ID = strings.TrimSuffix(path.Base(file), ".json")
		}
		if other := m.profiles[p.ID]; other != nil {
			m.note(Refused, file, "id: %s has the same, %q", other.file, p.ID)
			continue
		}
		m.profiles[p.ID] = p
	}
	return err
}

// reported are the labels that the bootstrap script sends.
var reported = []string{
	assignment.KeyUUID, assignment.KeyMAC, assignment.KeyIP, assignment.KeySerial, assignment.KeyAsset, assignment.KeyHostname, assignment.KeyArchitecture, assignment.KeyCPU,
	"board-serial", "manufacturer", "product", "domain", "platform", "version", "user-class",
}

// profile is that of an id. One in a folder below is found by its path, which is its id; matchbox lists none of these.
func (m *matchbox) profile(id string) *matchboxProfile {
	file := path.Join("profiles", id+".json")
	if p := m.profiles[id]; p != nil || !strings.Contains(id, "/") || !fs.ValidPath(file) || m.used[file] {
		return p
	}
	if _, err := fs.Stat(m.dir, file); err != nil {
		return nil
	}
	p := &matchboxProfile{ID: id, file: file}
	if !m.decode(file, p) {
		return nil
	}
	p.ID = id
	m.profiles[id] = p
	return p
}

// assign makes the assignment of a group, and the profile for it.
func (m *matchbox) assign(g *group) bool {
	p := m.profile(g.Profile)
	if p == nil {
		m.note(Refused, g.file, "profile: there is no profile %q", g.Profile)
		return false
	}
	p.wanted = true
	name, ok := m.profileFor(g, p)
	if !ok {
		m.note(Refused, g.file, "profile: %q cannot be used", g.Profile)
		return false
	}
	for key := range g.selector {
		if !slices.Contains(reported, key) {
			m.note(Changed, g.file, "machines do not report %q by themselves: add it to the URL that they chain to, or select by something else", key)
		}
	}
	g.made = &ipxev1.Assignment{
		TypeMeta:   metav1.TypeMeta{APIVersion: ipxev1.GroupVersion.String(), Kind: "Assignment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: m.options.Namespace, Name: m.name("Assignment", g.file, g.ID)},
		Spec:       ipxev1.AssignmentSpec{ProfileName: name},
	}
	if len(g.selector) > 0 {
		g.made.Spec.SubjectSelector = map[string]string{}
		for key, values := range g.selector {
			g.made.Spec.SubjectSelector[key] = values[0]
		}
	}
	m.Assignments = append(m.Assignments, g.made)
	m.note(Translated, g.file, "Assignment %s/%s, of Profile %s", g.made.Namespace, g.made.Name, name)
	return true
}

// unused names the files that nothing refers to.
func (m *matchbox) unused() error {
	for _, p := range m.profiles {
		if !p.wanted {
			m.note(Unused, p.file, "no group has this profile")
		}
	}
	return fs.WalkDir(m.dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		top, _, _ := strings.Cut(name, "/")
		switch {
		case d.IsDir() && (name == "assets" || strings.HasPrefix(path.Base(name), ".") && name != "."):
			if name == "assets" && m.options.AssetsURL == "" {
				m.note(Unused, name, "its files are not served here: put them behind a web server and name it (--assets-url)")
			}
			return fs.SkipDir
		case d.IsDir() || m.used[name]:
		case (top == "profiles" || top == "groups") && path.Ext(name) != ".json":
			m.note(Unused, name, "not a .json file")
		case top == "groups":
			m.note(Unused, name, "in a folder below groups, where matchbox does not look")
		case top == "profiles":
			m.note(Unused, name, "in a folder below profiles, and no group has it")
		default:
			m.note(Unused, name, "no profile of a group refers to it")
		}
		return nil
	})
}

package importer

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/spelling"
)

// File is a file of manifests.
type File struct {
	Name    string
	Content []byte
}

// foreignAssignment has every spelling of an Assignment's fields.
type foreignAssignment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              ipxev1.AssignmentSpec `json:"spec"`
	Status            map[string]any        `json:"status"`
}

// Manifests imports Profiles and Assignments of any group and in any spelling.
func Manifests(files []File, o Options) (*Result, error) {
	r := newResult(o)
	for _, file := range files {
		documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(file.Content)))
		for number := 1; ; number++ {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("%s: document %d: %w", file.Name, number, err)
			}
			r.document(fmt.Sprintf("%s#%d", file.Name, number), document)
		}
	}
	if len(r.Profiles)+len(r.Assignments)+len(r.Notes) == 0 {
		return nil, errors.New("there are no Profiles and no Assignments")
	}
	r.rankManifests()
	return r.finish(), nil
}

func (r *Result) document(where string, document []byte) {
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Items           []runtime.RawExtension `json:"items"`
	}
	if err := yaml.Unmarshal(document, &head); err != nil {
		r.note(Unused, where, "%v", err)
		return
	}
	var err error
	switch {
	case strings.HasSuffix(head.Kind, "List"):
		for i, item := range head.Items {
			r.document(fmt.Sprintf("%s.items[%d]", where, i), item.Raw)
		}
	case head.Kind == "Assignment":
		err = r.importAssignment(where, document)
	case head.Kind == "Profile":
		err = r.importProfile(where, document)
	case head.Kind != "":
		err = fmt.Errorf("a %s is neither Profile nor Assignment", head.Kind)
	}
	if err != nil {
		r.note(Unused, where, "%v", err)
	}
}

// meta keeps what people write of metadata.
func (r *Result) meta(kind, where string, m metav1.ObjectMeta) (metav1.ObjectMeta, error) {
	if m.Name == "" {
		return m, errors.New("metadata.name: required")
	}
	labels := map[string]string{}
	for key, value := range m.Labels {
		if prefix, name, ok := strings.Cut(key, "/"); ok && strings.Contains(name, "/") {
			legal := prefix + "/" + strings.ReplaceAll(name, "/", "-")
			r.note(Changed, where, "label %q is written %q", key, legal)
			key = legal
		}
		labels[key] = value
	}
	for _, derived := range []string{"buildarch", "uuid"} {
		// Later spellings keep copies of selectors in labels, as their index.
		maps.DeleteFunc(labels, func(key, _ string) bool { return kind == "Assignment" && indexes(key, derived) })
	}
	if len(labels) == 0 {
		labels = nil
	}
	namespace := cmp.Or(m.Namespace, r.options.Namespace)
	if other := r.taken[kind+"/"+namespace+"/"+m.Name]; other != "" {
		return m, fmt.Errorf("%s is called %s/%s too", other, namespace, m.Name)
	}
	r.taken[kind+"/"+namespace+"/"+m.Name] = where
	return metav1.ObjectMeta{Namespace: namespace, Name: m.Name, Labels: labels}, nil
}

func indexes(key, derived string) bool {
	group, name, _ := strings.Cut(key, "/")
	return group == "default-assignment" || strings.HasPrefix(group, derived+".") || strings.Contains(group, ".") && (name == derived || name == "default-assignment")
}

func (r *Result) importAssignment(where string, document []byte) error {
	var f foreignAssignment
	if err := yaml.UnmarshalStrict(document, &f); err != nil {
		return err
	}
	meta, err := r.meta("Assignment", where, f.ObjectMeta)
	if err != nil {
		return err
	}
	a := &ipxev1.Assignment{
		TypeMeta: metav1.TypeMeta{APIVersion: ipxev1.GroupVersion.String(), Kind: "Assignment"}, ObjectMeta: meta, Spec: f.Spec,
	}
	spec := &a.Spec
	isDefault := spec.IsDefault != nil && *spec.IsDefault
	spec.IsDefault = nil
	switch {
	case (spec.ProfileName == "") == (len(spec.ProfileSelectors) == 0):
		return errors.New("spec: exactly one of profileName and profileSelectors needs to be set")
	case len(spec.SubjectSelector) > 0 && len(spec.SubjectSelectors) > 0:
		return errors.New("spec: at most one of subjectSelector and subjectSelectors can be set")
	}
	if len(spec.SubjectSelectors) > 0 {
		selectors := assignment.NewSelector(nil, spec.SubjectSelectors)
		maps.DeleteFunc(selectors, func(_ string, values []string) bool { return len(values) == 0 })
		spec.SubjectSelectors = selectors
	}
	if isDefault {
		r.defaults(where, a)
	} else if len(spec.SubjectSelector)+len(spec.SubjectSelectors) == 0 {
		return errors.New("spec.subjectSelectors: it selects nothing there, and would be the default of all machines here")
	}
	r.Assignments = append(r.Assignments, a)
	return nil
}

// defaults makes an assignment the default of the architectures that it names, or of all machines. There it
// served the machines with its UUIDs no differently.
func (r *Result) defaults(where string, a *ipxev1.Assignment) {
	for _, key := range slices.Sorted(maps.Keys(a.Spec.SubjectSelectors)) {
		if key != assignment.KeyArchitecture {
			delete(a.Spec.SubjectSelectors, key)
			r.note(Changed, where, "isDefault: it is for all machines of its architecture, so %q is left out", key)
		}
	}
	if len(a.Spec.SubjectSelectors) == 0 {
		a.Spec.SubjectSelectors = nil // without labels it is the default of all machines anyway
		return
	}
	yes := true
	a.Spec.IsDefault = &yes
}

// rankManifests names assignments that more than one machine may get, and no rule of their authors tells apart: there the
// first that a list happens to have is served.
func (r *Result) rankManifests() {
	index := assignment.NewIndex()
	var all []*assignment.Assignment
	for _, a := range r.Assignments {
		selector, isDefault := spelling.Selector(&a.Spec)
		compiled := &assignment.Assignment{
			Namespace: a.Namespace, Name: a.Name, Priority: a.Spec.Priority, Profile: a.Spec.ProfileName, Selector: selector, Default: isDefault,
		}
		index.Put(compiled)
		all = append(all, compiled)
	}
	for _, a := range all {
		if c, conflicted := index.Conflicts(a); conflicted {
			r.note(Ranking, a.Key(), "%s with %s: which comes first was left to chance; here it yields", strings.ToLower(string(c.Kind)), c.Peers[0].Key())
		}
	}
}

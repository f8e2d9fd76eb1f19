package importer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/spelling"
)

// foreignAssignment has every spelling of an Assignment's fields.
type foreignAssignment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              ipxev1.AssignmentSpec `json:"spec"`
	Status            map[string]any        `json:"status"`
}

func (r *Result) importAssignment(where string, document []byte) error {
	var f foreignAssignment
	if err := decode(document, &f); err != nil {
		return err
	}
	meta, err := r.meta("Assignment", where, f.ObjectMeta)
	if err != nil {
		return err
	}
	a := &ipxev1.Assignment{
		TypeMeta: metav1.TypeMeta{APIVersion: ipxev1.GroupVersion.String(), Kind: "Assignment"}, ObjectMeta: meta, Spec: *f.Spec.DeepCopy(),
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
	for key, value := range f.Spec.ProfileSelectors {
		delete(spec.ProfileSelectors, key)
		spec.ProfileSelectors[r.legal(where, "spec.profileSelectors", key)] = value
	}
	if err := r.selectable(where, &f.Spec); err != nil {
		return err
	}
	if len(spec.SubjectSelectors) > 0 {
		selectors := assignment.NewSelector(nil, spec.SubjectSelectors)
		maps.DeleteFunc(selectors, func(_ string, values []string) bool { return len(values) == 0 })
		spec.SubjectSelectors = selectors
	}
	if isDefault {
		r.defaults(where, a)
	} else if len(spec.SubjectSelector)+len(spec.SubjectSelectors) == 0 && (f.Spec.IsDefault != nil || len(f.Spec.SubjectSelectors) > 0 || f.APIVersion != ipxev1.GroupVersion.String()) {
		return errors.New("spec.subjectSelectors: it selects nothing there, and would be the default of all machines here")
	}
	r.Assignments = append(r.Assignments, a)
	r.told(where, f.TypeMeta, "Assignment", meta, assignmentSpellings(&f.Spec))
	return nil
}

// selectable refuses labels of which no machine reports any of the values, and names the other such values.
func (r *Result) selectable(where string, spec *ipxev1.AssignmentSpec) error {
	check := func(field, written string, values ...string) error {
		var unmatched []string
		for _, value := range values {
			if why := assignment.Unmatched(assignment.CanonicalKey(written), value); why != "" {
				unmatched = append(unmatched, why)
			}
		}
		if len(values) > 0 && len(unmatched) == len(values) {
			return fmt.Errorf("spec.%s.%s: %s", field, written, strings.Join(unmatched, "; "))
		}
		for _, why := range unmatched {
			r.note(Changed, where, "spec.%s.%s: %s", field, written, why)
		}
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(spec.SubjectSelector)) {
		if err := check("subjectSelector", key, spec.SubjectSelector[key]); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(spec.SubjectSelectors)) {
		if err := check("subjectSelectors", key, spec.SubjectSelectors[key]...); err != nil {
			return err
		}
	}
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

// assignmentSpellings are the words of an Assignment that this version has not.
func assignmentSpellings(spec *ipxev1.AssignmentSpec) []string {
	var found []string
	if spec.IsDefault != nil {
		found = append(found, "isDefault")
	}
	for _, key := range slices.Sorted(maps.Keys(spec.SubjectSelectors)) {
		if assignment.CanonicalKey(key) != key {
			found = append(found, key)
		}
	}
	return found
}

// unselected names assignments that none of the imported Profiles is for. One may be in the API already.
func (r *Result) unselected() {
	for _, a := range r.Assignments {
		selector, where := labels.SelectorFromSet(a.Spec.ProfileSelectors), r.taken["Assignment/"+a.Namespace+"/"+a.Name]
		found := slices.ContainsFunc(r.Profiles, func(p *ipxev1.Profile) bool {
			return p.Namespace == a.Namespace && (p.Name == a.Spec.ProfileName || a.Spec.ProfileName == "" && selector.Matches(labels.Set(p.Labels)))
		})
		switch {
		case found:
		case a.Spec.ProfileName != "":
			r.note(Changed, where, "spec.profileName: no Profile here is called %s/%s", a.Namespace, a.Spec.ProfileName)
		default:
			r.note(Changed, where, "spec.profileSelectors: no Profile here has %s", selector)
		}
	}
}

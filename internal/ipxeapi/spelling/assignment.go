package spelling

import (
	"maps"
	"slices"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

// Selector is what an Assignment selects machines by, and whether it is for those of them alone that no other one is for.
func Selector(spec *ipxev1.AssignmentSpec) (selector assignment.Selector, isDefault bool) {
	if spec.IsDefault == nil {
		return assignment.NewSelector(spec.SubjectSelector, spec.SubjectSelectors), false
	}
	several := maps.Clone(spec.SubjectSelectors)
	maps.DeleteFunc(several, func(key string, values []string) bool {
		return len(values) == 0 || *spec.IsDefault && assignment.CanonicalKey(key) != assignment.KeyArchitecture
	})
	single := maps.Clone(spec.SubjectSelector)
	maps.DeleteFunc(single, func(key, _ string) bool {
		return *spec.IsDefault && assignment.CanonicalKey(key) != assignment.KeyArchitecture
	})
	if !*spec.IsDefault && len(single)+len(several) == 0 {
		return assignment.Selector{assignment.KeyUUID: {}}, false // of no machine
	}
	return assignment.NewSelector(single, several), *spec.IsDefault
}

// Uncounted are the labels that a default of later versions selects by and that do not count.
func Uncounted(spec *ipxev1.AssignmentSpec) []string {
	if spec.IsDefault == nil || !*spec.IsDefault {
		return nil
	}
	var found []string
	add := func(key string) {
		if assignment.CanonicalKey(key) != assignment.KeyArchitecture {
			found = append(found, key)
		}
	}
	for key := range spec.SubjectSelector {
		add(key)
	}
	for key, values := range spec.SubjectSelectors {
		if len(values) > 0 {
			add(key)
		}
	}
	slices.Sort(found)
	return found
}

package index

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/ipxeapi/spelling"
)

// Selection returns the same for Assignments that select the same machines at the same priority, however their labels are spelled.
func Selection(a *ipxev1.Assignment) string {
	selector, isDefault := spelling.Selector(&a.Spec)
	return fmt.Sprintf("%d %t %s", a.Spec.Priority, isDefault, selector)
}

// Admitted is when an object came, to tell those apart that Kubernetes says are of the same second; zero: nobody wrote it down.
func Admitted(obj client.Object) time.Time {
	at, err := time.Parse(time.RFC3339Nano, obj.GetAnnotations()[ipxev1.AnnotationAdmitted])
	if err != nil {
		return time.Time{}
	}
	return at
}

// Older orders objects of one kind and namespace by when they came, the oldest first.
func Older(a, b client.Object) int {
	first, second := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	return cmp.Or(first.Time.Compare(second.Time), Admitted(a).Compare(Admitted(b)), strings.Compare(a.GetName(), b.GetName()))
}

// Wanted is the same for Assignments that may get the same Profile: those that name it, and those of whose profileSelectors the first, in the order
// of keys, is the same. Uses is the other side of it.
func Wanted(a *ipxev1.Assignment) string {
	if a.Spec.ProfileName != "" {
		return named(a.Namespace, a.Spec.ProfileName)
	}
	if len(a.Spec.ProfileSelectors) == 0 {
		return ""
	}
	first := slices.Min(slices.Collect(maps.Keys(a.Spec.ProfileSelectors)))
	return labelled(a.Namespace, LegalKey(first), a.Spec.ProfileSelectors[first])
}

// Uses are the values of AssignmentByProfile under which the Assignments of a Profile are found; Selects says which of those that select by
// labels are.
func Uses(profile client.Object) []string {
	found := []string{named(profile.GetNamespace(), profile.GetName())}
	return append(found, Labelled(profile)...)
}

// Labelled are a Profile's labels, as ProfileByLabel and Wanted spell them.
func Labelled(profile client.Object) []string {
	found := make([]string, 0, len(profile.GetLabels()))
	for key, value := range profile.GetLabels() {
		found = append(found, labelled(profile.GetNamespace(), key, value))
	}
	return found
}

func named(namespace, name string) string          { return namespace + "/" + name }
func labelled(namespace, key, value string) string { return namespace + "/?" + key + "=" + value }

// Selects reports whether an Assignment selects a Profile of its namespace by labels.
func Selects(a *ipxev1.Assignment, profile client.Object) bool {
	labels := profile.GetLabels()
	for key, value := range a.Spec.ProfileSelectors {
		if got, ok := labels[LegalKey(key)]; !ok || got != value {
			return false
		}
	}
	return len(a.Spec.ProfileSelectors) > 0
}

// LegalKey is a selector's key as a label can have it: with one slash at most. Admission repairs keys with more, and what came past it means the
// same.
func LegalKey(key string) string {
	if prefix, name, ok := strings.Cut(key, "/"); ok {
		return prefix + "/" + strings.ReplaceAll(name, "/", "-")
	}
	return key
}

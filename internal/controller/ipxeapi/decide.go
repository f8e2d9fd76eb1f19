package ipxeapi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/objectversion"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

// Reasons of conditions of Assignments.
const (
	reasonAccepted        = "Accepted"
	reasonMatchesNothing  = "MatchesNothing"
	reasonProfileMissing  = "ProfileMissing"
	reasonNoConflict      = "NoConflict"
	reasonProgrammed      = "Programmed"
	reasonProfileNotReady = "ProfileNotReady"
	reasonPending         = "Pending"
	reasonBootConfig      = "BootConfiguration"
)

// resolved is the profile that an assignment gets.
type resolved struct {
	name   string
	broken string // why there is none
	others []string
	ready  *metav1.Condition // of the profile as it is now; nil: not looked at yet
	// version is the resource version of the profile.
	version uint64
}

// profileOf finds the profile of an assignment in its namespace.
func (r *Assignments) profileOf(ctx context.Context, a *ipxev1.Assignment) (resolved, error) {
	name := client.ObjectKeyFromObject(a)
	if a.Spec.ProfileName != "" {
		r.unresolved.set(name)
		var p ipxev1.Profile
		err := r.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: a.Spec.ProfileName}, &p, client.UnsafeDisableDeepCopy)
		if apierrors.IsNotFound(err) || err == nil && !p.DeletionTimestamp.IsZero() {
			return resolved{name: a.Spec.ProfileName, broken: fmt.Sprintf("Profile %q does not exist", a.Spec.ProfileName)}, nil
		}
		return resolved{name: p.Name, ready: readiness(&p), version: objectversion.Newest(&p)}, err
	}
	// It is marked unresolved before the read, so that no new profile goes unnoticed in between.
	r.unresolved.set(name, a.Namespace)
	found, err := r.selected(ctx, a)
	if err != nil {
		return resolved{}, err
	}
	if len(found) == 0 {
		var all ipxev1.ProfileList
		err := r.List(ctx, &all, client.InNamespace(a.Namespace), client.UnsafeDisableDeepCopy)
		return resolved{broken: "No Profile has the labels of spec.profileSelectors" + nearMiss(a, all.Items)}, err
	}
	r.unresolved.set(name)
	slices.SortFunc(found, func(a, b *ipxev1.Profile) int { return index.Older(a, b) })
	result := resolved{name: found[0].Name, ready: readiness(found[0]), version: objectversion.Newest(found[0])}
	for _, p := range found[1:] {
		result.others = append(result.others, p.Name)
	}
	return result, nil
}

// selected returns the profiles whose labels an assignment selects.
func (r *Assignments) selected(ctx context.Context, a *ipxev1.Assignment) ([]*ipxev1.Profile, error) {
	var some ipxev1.ProfileList
	wanted := index.Wanted(a)
	if wanted == "" {
		return nil, nil
	}
	if err := r.List(ctx, &some, client.MatchingFields{index.ProfileByLabel: wanted}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var found []*ipxev1.Profile
	for i := range some.Items {
		if p := &some.Items[i]; p.DeletionTimestamp.IsZero() && index.Selects(a, p) {
			found = append(found, p)
		}
	}
	return found, nil
}

// readiness returns the condition Ready of a profile. After an edit it is about the version that machines get until the edit is
// compiled.
func readiness(p *ipxev1.Profile) *metav1.Condition {
	c := apimeta.FindStatusCondition(p.Status.Conditions, ipxev1.ConditionReady)
	if c == nil {
		return nil
	}
	return &metav1.Condition{Status: c.Status, Reason: c.Reason, Message: c.Message}
}

// nearMiss names a profile that the assignment would select if the spelling of keys did not count.
func nearMiss(a *ipxev1.Assignment, profiles []ipxev1.Profile) string {
	for i := range profiles {
		readable := map[string]string{}
		for key, value := range profiles[i].Labels {
			readable[loose(key)+"="+strings.ToLower(value)] = key
		}
		hints := make([]string, 0, len(a.Spec.ProfileSelectors))
		for key, value := range a.Spec.ProfileSelectors {
			if label, ok := readable[loose(key)+"="+strings.ToLower(value)]; ok {
				hints = append(hints, fmt.Sprintf("%s=%s, and the selector has %q with %q", label, profiles[i].Labels[label], key, value))
			}
		}
		if len(hints) > 0 && len(hints) == len(a.Spec.ProfileSelectors) {
			slices.Sort(hints)
			return fmt.Sprintf("; Profile %q has %s", profiles[i].Name, strings.Join(hints, "; "))
		}
	}
	return ""
}

// loose returns a key without what people spell differently.
func loose(key string) string {
	key = strings.ToLower(key)
	for _, prefix := range []string{"assignment/", "assigment/", "assignments/", "asignment/"} {
		key = strings.TrimPrefix(key, prefix)
	}
	for _, prefix := range []string{"ipxe-", "ipxe/", "extrinsic-", "extrinsic/"} {
		key = strings.TrimPrefix(key, prefix)
	}
	return assignment.CanonicalKey(key)
}

// identifying are the keys by which a Server and an assignment can mean the same machine, the surest first.
var identifying = []string{assignment.KeyUUID, assignment.KeyMAC, assignment.KeySerial}

// overrides names the machines that an assignment selects by identity and that boot by a boot configuration, which has
// precedence.
func (r *Assignments) overrides(ctx context.Context, name types.NamespacedName, selector assignment.Selector) ([]string, error) {
	at := slices.IndexFunc(identifying, func(key string) bool { return len(selector[key]) > 0 })
	if at < 0 {
		r.machines.set(name)
		return nil, nil
	}
	key := identifying[at]
	named := make([]string, 0, len(selector[key]))
	for _, value := range selector[key] {
		named = append(named, index.Identity(key, value))
	}
	r.machines.set(name, named...)
	var found []string
	for _, value := range named {
		var servers metalv1.ServerList
		if err := r.List(ctx, &servers, client.MatchingFields{index.ServerByIdentity: value}); err != nil {
			return nil, err
		}
		for i := range servers.Items {
			if s := &servers.Items[i]; (s.Spec.BootConfigurationRef != nil || s.Spec.MaintenanceBootConfigurationRef != nil) && means(selector, s) {
				found = append(found, fmt.Sprintf("Server %q boots by its boot configuration", s.Name))
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// means reports whether the known identities of a server allow that its machine is selected.
func means(selector assignment.Selector, s *metalv1.Server) bool {
	known := index.Identities(s)
	for _, key := range identifying {
		wanted, ok := selector[key]
		if ok && len(known[key]) > 0 && !slices.ContainsFunc(known[key], func(value string) bool { return slices.Contains(wanted, value) }) {
			return false
		}
	}
	return true
}

// describeAssignment writes the conditions of an assignment.
func describeAssignment(a *ipxev1.Assignment, compiled *assignment.Assignment, found resolved, by others, bootConfigs []string) {
	n, conflict := a.Generation, by.conflict
	a.Status.ObservedGeneration = n
	set := func(c metav1.Condition) { apimeta.SetStatusCondition(&a.Status.Conditions, c) }

	key, impossible := compiled.Selector.Impossible()
	if impossible {
		set(condition(ipxev1.ConditionAccepted, false, reasonMatchesNothing, n, fmt.Sprintf("label %q has no value that a machine can have", key)))
	} else {
		set(condition(ipxev1.ConditionAccepted, true, reasonAccepted, n))
	}
	switch {
	case found.broken != "":
		set(condition(ipxev1.ConditionProfileResolved, false, reasonProfileMissing, n, found.broken))
	case len(found.others) > 0:
		set(condition(ipxev1.ConditionProfileResolved, true, ipxev1.ReasonProfileAmbiguous, n,
			fmt.Sprintf("Farrier serves Profile %q, the oldest; also selected: %s", found.name, strings.Join(found.others, ", "))))
	default:
		set(condition(ipxev1.ConditionProfileResolved, true, reasonResolved, n, fmt.Sprintf("Profile %q", found.name)))
	}
	if conflict == nil {
		set(condition(ipxev1.ConditionConflicted, false, reasonNoConflict, n))
	} else {
		set(condition(ipxev1.ConditionConflicted, true, string(conflict.Kind), n, conflictMessage(a.Namespace, conflict)))
	}
	overridden := overrideMessages(by.overrides)
	switch {
	case len(bootConfigs) > 0:
		set(condition(ipxev1.ConditionOverridden, true, reasonBootConfig, n, append(bootConfigs, overridden...)...))
	case len(overridden) > 0:
		set(condition(ipxev1.ConditionOverridden, true, ipxev1.ReasonAssignment, n, overridden...))
	default:
		apimeta.RemoveStatusCondition(&a.Status.Conditions, ipxev1.ConditionOverridden)
	}
	switch {
	case impossible:
		set(condition(ipxev1.ConditionProgrammed, false, reasonMatchesNothing, n))
	case found.broken != "":
		set(condition(ipxev1.ConditionProgrammed, false, reasonProfileMissing, n, "The machines wait: "+found.broken))
	case found.ready == nil:
		set(condition(ipxev1.ConditionProgrammed, false, reasonPending, n, "The Profile is not compiled yet"))
	case found.ready.Status != metav1.ConditionTrue:
		set(condition(ipxev1.ConditionProgrammed, false, reasonProfileNotReady, n, fmt.Sprintf("The machines wait: Profile %q: %s", found.name, found.ready.Message)))
	case conflict != nil && conflict.Kind == assignment.Duplicate && !foreigner(a, by.overrides):
		set(condition(ipxev1.ConditionProgrammed, false, ipxev1.ReasonDuplicate, n, "The older Assignment has precedence: "+conflictMessage(a.Namespace, conflict)))
	case by.all:
		set(condition(ipxev1.ConditionProgrammed, false, ipxev1.ReasonOverridden, n, overridden...))
	default:
		set(condition(ipxev1.ConditionProgrammed, true, reasonProgrammed, n))
	}
}

// foreigner reports whether an assignment of another namespace decides machines of this one.
func foreigner(a *ipxev1.Assignment, overrides []assignment.Override) bool {
	return slices.ContainsFunc(overrides, func(l assignment.Override) bool { return l.Winner.Namespace != a.Namespace })
}

// maxOverridden bounds how many machines a message names, maxWinners how many assignments.
const (
	maxOverridden = 16
	maxWinners    = 8
)

// overrideMessages say which machines other assignments decide. They name these in any namespace: whoever misses a machine has to find
// out who has it.
func overrideMessages(overrides []assignment.Override) []string {
	messages := make([]string, 0, len(overrides))
	for i, l := range overrides {
		if i == maxWinners {
			messages = append(messages, fmt.Sprintf("and %d more Assignments have precedence for other machines", len(overrides)-i))
			break
		}
		machines := "all machines"
		if l.Key != "" {
			shown := l.Values[:min(len(l.Values), maxOverridden)]
			machines = l.Key + " " + strings.Join(shown, ", ")
			if more := len(l.Values) - len(shown); more > 0 {
				machines += fmt.Sprintf(" and %d more", more)
			}
		}
		messages = append(messages, fmt.Sprintf("%s: Assignment %s decides (%s)", machines, l.Winner.Key(), l.By))
	}
	return messages
}

// conflictMessage names the peers in this namespace; users of one namespace may not see into others.
func conflictMessage(namespace string, conflict *assignment.Conflict) string {
	var names []string
	for _, peer := range conflict.Peers {
		if name := peer.Name; peer.Namespace == namespace {
			names = append(names, fmt.Sprintf("Assignment %q", name))
		} else {
			names = append(names, "an Assignment in another namespace")
		}
	}
	what := "Same machines and priority, another profile: "
	if conflict.Kind == assignment.Ambiguous {
		what = "Both select some machines, and neither is more specific: "
	}
	return what + strings.Join(names, ", ")
}

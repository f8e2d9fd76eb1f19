package admission

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/spelling"
)

// knownLabels are what machines say of themselves: what the bootstrap script sends, and other settings of iPXE (https://ipxe.org/cfg).
var knownLabels = []string{
	assignment.KeyUUID, assignment.KeyMAC, assignment.KeySerial, assignment.KeyAsset, assignment.KeyHostname, assignment.KeyIP,
	assignment.KeyArchitecture, assignment.KeyCPU, "platform", "manufacturer", "product", "version", "board-serial", "boardserial", "domain", "gateway", "netmask", "dns",
	"next-server", "filename", "user-class", "vendor-class", "dhcp-server", "busid", "chip", "bustype", "ifname", "family", "sku", "net", "memsize", "unixtime",
}

// assignmentSelectors refuses a selector that contradicts itself, however its keys are spelled, and warns of one that no machine matches.
func assignmentSelectors(_ context.Context, c *check, now, before *ipxev1.Assignment) error {
	single, several := now.Spec.SubjectSelector, now.Spec.SubjectSelectors
	if reflect.DeepEqual(single, before.Spec.SubjectSelector) && reflect.DeepEqual(several, before.Spec.SubjectSelectors) &&
		reflect.DeepEqual(now.Spec.IsDefault, before.Spec.IsDefault) {
		return nil
	}
	for _, key := range spelling.Uncounted(&now.Spec) {
		c.warn(selectorPath(now).Key(key), "is ignored, because isDefault is true: only the architecture counts")
	}
	if now.Spec.IsDefault != nil {
		several = maps.Clone(several)
		maps.DeleteFunc(several, func(_ string, values []string) bool { return len(values) == 0 }) // as that version leaves them
		if !*now.Spec.IsDefault && len(single)+len(several) == 0 {
			c.warn(selectorPath(now), "matches no machine: it selects nothing and isDefault is false")
		}
	}
	lists := make(map[string][]string, len(single))
	for key, value := range single {
		lists[key] = []string{value}
	}
	c.selector(field.NewPath("spec", "subjectSelector"), lists)
	c.selector(field.NewPath("spec", "subjectSelectors"), several)
	return nil
}

func (c *check) selector(path *field.Path, lists map[string][]string) {
	written := map[string]string{} // by canonical key
	for _, key := range slices.Sorted(maps.Keys(lists)) {
		at, canonical := path.Key(key), assignment.CanonicalKey(key)
		switch first, twice := written[canonical]; {
		case canonical == "" || len(key) > assignment.MaxKey || strings.ContainsFunc(key, unicode.IsControl):
			c.refuse(field.Invalid(at, field.OmitValueType{}, fmt.Sprintf("want a key of 1 to %d bytes without control characters", assignment.MaxKey)))
			continue
		case twice && !sameValues(canonical, lists[first], lists[key]):
			c.refuse(field.Invalid(at, field.OmitValueType{}, fmt.Sprintf("%q is the same label as %q, and they differ", key, first)))
			continue
		case twice:
			c.warn(at, "is the same label as %q", first)
		}
		written[canonical] = key
		if !slices.Contains(knownLabels, canonical) && !strings.Contains(strings.ToLower(key), "extrinsic") {
			c.warn(at, "machines do not report this label by themselves; it matches only machines whose boot URL adds it")
		}
		if len(lists[key]) == 0 {
			c.warn(at, "matches no machine without a value")
		}
		for _, value := range lists[key] {
			c.selectorValue(at, canonical, value)
		}
	}
}

func (c *check) selectorValue(at *field.Path, key, value string) {
	if len(value) > assignment.MaxValue || strings.ContainsFunc(value, unicode.IsControl) {
		c.refuse(field.Invalid(at, field.OmitValueType{}, fmt.Sprintf("want at most %d bytes without control characters", assignment.MaxValue)))
		return
	}
	if why := assignment.Unmatched(key, value); why != "" {
		c.warn(at, "%s", why)
	}
}

func sameValues(key string, a, b []string) bool {
	x := assignment.NewSelector(nil, map[string][]string{key: a})
	y := assignment.NewSelector(nil, map[string][]string{key: b})
	return reflect.DeepEqual(x, y)
}

// oneAssignment warns of an assignment for exactly the machines of another one, at the same priority, that gives them another profile. It is not
// refused: whoever replaces one by another under a new name creates the new one first.
func oneAssignment(ctx context.Context, c *check, now, before *ipxev1.Assignment) error {
	if !c.created() && reflect.DeepEqual(now.Spec, before.Spec) {
		return nil
	}
	selection := index.Selection(now)
	others, err := holders(ctx, c, &ipxev1.AssignmentList{}, index.AssignmentBySelection, selection, blank[ipxev1.Assignment], func(o *ipxev1.Assignment) bool {
		return index.Selection(o) == selection && (o.Namespace != c.Namespace || o.Spec.ProfileName != now.Spec.ProfileName ||
			!reflect.DeepEqual(o.Spec.ProfileSelectors, now.Spec.ProfileSelectors))
	})
	if err != nil || len(others) == 0 {
		return err
	}
	// Of those that are named one is of the own namespace, if any is.
	slices.SortStableFunc(others, func(a, b types.NamespacedName) int {
		return cmp.Compare(btoi(a.Namespace != c.Namespace), btoi(b.Namespace != c.Namespace))
	})
	c.warn(selectorPath(now), "%s selects the same machines at the same priority and gives them another profile; the older one serves until it is gone", c.whose(others[0]))
	return nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// selectorPath is the field that an Assignment selects by.
func selectorPath(a *ipxev1.Assignment) *field.Path {
	if len(a.Spec.SubjectSelectors) > 0 {
		return field.NewPath("spec", "subjectSelectors")
	}
	return field.NewPath("spec", "subjectSelector")
}

// assignmentProfile warns of a profile that is not there: until it is, the machines wait.
func assignmentProfile(ctx context.Context, c *check, now, before *ipxev1.Assignment) error {
	c.holds = append(c.holds, held{ipxe("Assignment"), index.AssignmentByProfile, index.Wanted(now)})
	if now.Spec.ProfileName == "" || now.Spec.ProfileName == before.Spec.ProfileName {
		return nil
	}
	key := types.NamespacedName{Namespace: c.Namespace, Name: now.Spec.ProfileName}
	missing, err := c.missed(ctx, key, &ipxev1.Profile{})
	if err == nil && missing {
		c.warn(field.NewPath("spec", "profileName"), "Profile %q does not exist; machines wait for it", now.Spec.ProfileName)
	}
	return err
}

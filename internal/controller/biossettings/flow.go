package biossettings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

// Reasons for which settings cannot be what is asked for, whatever is tried.
const (
	reasonUnknownAttribute  = "UnknownAttribute"
	reasonReadOnlyAttribute = "ReadOnlyAttribute"
	reasonInvalidValue      = "InvalidValue"
	reasonDuplicateName     = "DuplicateFlowName"
)

// checkNames says which name of a flow is used twice. How far a flow has come is remembered by name, so that of two parts with one
// name the second would never be over.
func checkNames(flow []metalv1.SettingsFlowItem) error {
	first := map[string]int{}
	for i, item := range flow {
		if j, twice := first[item.Name]; twice {
			return reconcileerror.Terminalf(reasonDuplicateName, "spec.settingsFlow[%d].name: %q is the name of spec.settingsFlow[%d] too; every part needs a name of its own", i, shown(item.Name), j)
		}
		first[item.Name] = i
	}
	return nil
}

// maxShown bounds what messages repeat of a name.
const maxShown = 64

func shown(name string) string {
	if len(name) > maxShown {
		return strings.ToValidUTF8(name[:maxShown], "") + "…"
	}
	return name
}

// flowOf is the flow in the order in which it is applied.
func flowOf(obj *metalv1.BIOSSettings) []metalv1.SettingsFlowItem {
	flow := slices.Clone(obj.Spec.SettingsFlow)
	slices.SortStableFunc(flow, func(a, b metalv1.SettingsFlowItem) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), strings.Compare(a.Name, b.Name))
	})
	return flow
}

// final is what all of the flow comes to: where two parts set one attribute, the later counts.
func final(flow []metalv1.SettingsFlowItem) map[string]string {
	all := map[string]string{}
	for _, item := range flow {
		maps.Copy(all, item.Settings)
	}
	return all
}

// differing names the attributes that are not as wanted.
func differing(wanted map[string]string, attributes map[string]any) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if now, ok := attributes[name]; !ok || !bmc.ShowsAs(now, wanted[name]) {
			names = append(names, name)
		}
	}
	return names
}

// change makes what is sent for the attributes of these names. Its error, a Terminal, names the attribute that
// the firmware would refuse.
func change(names []string, wanted map[string]string, l *look) (map[string]any, error) {
	values := map[string]any{}
	for _, name := range names {
		attribute, known := l.registry.Find(name, l.bios.Attributes)
		switch {
		case !known:
			return nil, reconcileerror.Terminalf(reasonUnknownAttribute, "attribute %q: the firmware does not have it", name)
		case attribute.ReadOnly:
			return nil, reconcileerror.Terminalf(reasonReadOnlyAttribute, "attribute %q is read-only", name)
		case attribute.Type == "Password":
			return nil, reconcileerror.Terminalf(reasonInvalidValue, "attribute %q is a password, which does not belong into a spec that many may read", name)
		}
		value, err := attribute.Parse(wanted[name])
		if err == nil {
			err = bmc.AttributeRegistry{name: attribute}.Check(map[string]any{name: value})
		} else {
			err = fmt.Errorf("attribute %q: %w", name, err)
		}
		if err != nil {
			return nil, reconcileerror.Terminal{Reason: reasonInvalidValue, Err: err}
		}
		values[name] = value
	}
	return values, nil
}

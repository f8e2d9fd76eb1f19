package biossettings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
		if now, ok := attributes[name]; !ok || !same(now, wanted[name]) {
			names = append(names, name)
		}
	}
	return names
}

// same compares a value of the BMC's with the text of a spec, which knows no types.
func same(now any, wanted string) bool {
	switch now := now.(type) {
	case string:
		return now == wanted
	case bool:
		b, err := strconv.ParseBool(strings.ToLower(wanted))
		return err == nil && b == now
	case int64:
		n, err := strconv.ParseInt(wanted, 10, 64)
		return err == nil && n == now
	}
	return false
}

// change makes what is sent for the attributes of these names. Its error, a Terminal, names the attribute that
// the firmware would refuse.
func change(names []string, wanted map[string]string, l *look) (map[string]any, error) {
	values := map[string]any{}
	for _, name := range names {
		attribute, known := l.attribute(name)
		switch {
		case !known:
			return nil, reconcileerror.Terminalf(reasonUnknownAttribute, "attribute %q: the firmware does not have it", name)
		case attribute.ReadOnly:
			return nil, reconcileerror.Terminalf(reasonReadOnlyAttribute, "attribute %q is read-only", name)
		case attribute.Type == "Password":
			return nil, reconcileerror.Terminalf(reasonInvalidValue, "attribute %q is a password, which does not belong into a spec that many may read", name)
		}
		value, err := typed(attribute.Type, wanted[name])
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

// typed is the value that a text stands for.
func typed(kind, text string) (any, error) {
	switch kind {
	case "Integer":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a whole number", text)
		}
		return n, nil
	case "Boolean":
		b, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			return nil, fmt.Errorf("%q is neither true nor false", text)
		}
		return b, nil
	}
	return text, nil
}

// attribute is what the registry says of an attribute; where the BMC has no registry, what its present
// value tells.
func (l *look) attribute(name string) (bmc.Attribute, bool) {
	if l.registry != nil {
		a, ok := l.registry[name]
		return a, ok
	}
	value, ok := l.bios.Attributes[name]
	a := bmc.Attribute{Name: name, Type: "String", ResetRequired: true}
	switch value.(type) {
	case int64:
		a.Type = "Integer"
	case bool:
		a.Type = "Boolean"
	}
	return a, ok
}

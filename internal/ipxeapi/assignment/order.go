package assignment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Class ranks what an assignment knows a machine by. The strongest of its keys counts,
// and counting keys comes later: one MAC address beats three attributes.
type Class int

// Classes, the strongest last.
const (
	Default   Class = iota // an empty selector
	Attribute              // architecture, platform, manufacturer, region, …
	Network                // hostname, ip
	Hardware               // uuid, mac, serial, asset
)

// String is the class in the words of explanations.
func (c Class) String() string {
	return [...]string{"default", "attribute", "network identity", "hardware identity"}[c]
}

// ClassOf is the class of a canonical key.
func ClassOf(key string) Class {
	switch key {
	case KeyUUID, KeyMAC, KeySerial, KeyAsset:
		return Hardware
	case KeyHostname, KeyIP:
		return Network
	}
	return Attribute
}

// Selector is what an assignment selects machines by: each key has one of the values.
// Keys and values are canonical, values in order and without repetition.
type Selector map[string][]string

// NewSelector normalises the two spellings of a selector, of which one is given.
func NewSelector(single map[string]string, several map[string][]string) Selector {
	s := Selector{}
	for key, value := range single {
		s.add(key, value)
	}
	for key, values := range several {
		s.add(key, values...)
	}
	for key, values := range s {
		slices.Sort(values)
		s[key] = slices.Compact(values)
	}
	return s
}

// add keeps a key without a value: nothing matches it, which is what it says.
func (s Selector) add(written string, values ...string) {
	key := CanonicalKey(written)
	s[key] = append([]string{}, s[key]...)
	for _, value := range values {
		if value = CanonicalValue(key, value); value != "" && !Placeholder(key, value) {
			s[key] = append(s[key], value)
		}
	}
}

// Check refuses a selector that NewSelector could not have made: the index looks values up in order.
func (s Selector) Check() error {
	for key, values := range s {
		if key == "" {
			return errors.New("selector: a key is empty")
		}
		for i, value := range values {
			if value == "" || i > 0 && values[i-1] >= value {
				return fmt.Errorf("selector: the values of %q are not in order, each of them once", key)
			}
		}
	}
	return nil
}

// Class is that of the strongest key.
func (s Selector) Class() Class {
	class := Default
	for key := range s {
		class = max(class, ClassOf(key))
	}
	return class
}

// Matches reports whether a machine is selected.
func (s Selector) Matches(subject Subject) bool {
	for key, values := range s {
		first, second := subject.values(key)
		if (first == "" || !has(values, first)) && (second == "" || !has(values, second)) {
			return false
		}
	}
	return true
}

// Impossible names a key for which no value is left that a machine could have.
func (s Selector) Impossible() (key string, ok bool) {
	for _, key := range s.keys() {
		if len(s[key]) == 0 {
			return key, true
		}
	}
	return "", false
}

// keys are in order, the strongest class first.
func (s Selector) keys() []string {
	keys := make([]string, 0, len(s))
	for key := range s {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(ClassOf(b), ClassOf(a)), strings.Compare(a, b))
	})
	return keys
}

// breadth is how many values a selector allows beside the first one of each key, by the class of the key, the strongest first. Of two
// selectors by the same keys the one within the other has the smaller one.
type breadth [Hardware]int

func (s Selector) breadth() (b breadth) {
	for key, values := range s {
		b[Hardware-ClassOf(key)] += len(values) - 1
	}
	return b
}

// String writes the selector so that equal ones are written alike.
func (s Selector) String() string {
	var b strings.Builder
	for i, key := range s.keys() {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(key)
		b.WriteByte('=')
		b.WriteString(strings.Join(s[key], "|"))
	}
	return b.String()
}

func has(sorted []string, value string) bool {
	_, ok := slices.BinarySearch(sorted, value)
	return ok
}

// Assignment gives the machines that it selects a profile. It is put into one [Index] and
// never changed after that.
type Assignment struct {
	Namespace, Name string
	// Created is when it was made, as Kubernetes says it: to the second. Admitted tells those of one second apart; zero: before it was
	// written down.
	Created, Admitted time.Time
	Selector          Selector
	// Default: it is for those of its machines that no other one is for, whatever it selects by.
	Default  bool
	Priority int32
	// Tenancy is the place of its namespace; nil: it is one of the operator's.
	Tenancy *Tenancy
	// Profile is the name of the profile, in the namespace of the assignment; empty when
	// there is none.
	Profile string
	// Broken says why machines cannot be given the profile. They get nothing else either.
	Broken string
	// Version is the resource version of the newest object that it was made of; 0: of none. It decides nothing here.
	Version uint64

	// entry is what the index calls it, with its key at the end.
	entry string
	// What the index has found out: the selector's class and breadth, and whether its hash table compares
	// all of the selector.
	indexed, hashed bool
	class           Class
	breadth         breadth
}

// Class is that of the selector.
func (a *Assignment) Class() Class {
	switch {
	case a.indexed:
		return a.class
	case a.Default:
		return Default
	}
	return a.Selector.Class()
}

// selects is the breadth of the selector.
func (a *Assignment) selects() breadth {
	if a.indexed {
		return a.breadth
	}
	return a.Selector.breadth()
}

// entryPrefix is before the key in the name of an entry.
const entryPrefix = "Assignment/"

// Entry is what an assignment of an index is called in the record of a boot: Assignment/namespace/name.
func (a *Assignment) Entry() string { return a.entry }

// Key is namespace/name.
func (a *Assignment) Key() string {
	if a.entry != "" {
		return a.entry[len(entryPrefix):]
	}
	return a.Namespace + "/" + a.Name
}

// Rule is what put one assignment before another.
type Rule string

// Rules, in the order in which they are asked.
const (
	ByClass     Rule = "class"
	ByOperator  Rule = "operator's namespace"
	ByGrant     Rule = "narrower grant"
	ByNamespace Rule = "older namespace"
	ByPriority  Rule = "priority"
	ByKeys      Rule = "more keys"
	ByValues    Rule = "fewer values"
	ByAge       Rule = "older"
	ByName      Rule = "name"
)

// Compare orders assignments that match the same machine, the best first, and says by
// which rule. It is zero for one and the same only.
func Compare(a, b *Assignment) (order int, by Rule) {
	if order = cmp.Compare(b.Class(), a.Class()); order != 0 {
		return order, ByClass
	}
	if order, by := compareTenancy(a, b); order != 0 {
		return order, by
	}
	if order = cmp.Compare(b.Priority, a.Priority); order != 0 {
		return order, ByPriority
	}
	if order = cmp.Compare(len(b.Selector), len(a.Selector)); order != 0 {
		return order, ByKeys
	}
	first, second := a.selects(), b.selects()
	if order = slices.Compare(first[:], second[:]); order != 0 {
		return order, ByValues
	}
	if order = cmp.Or(a.Created.Compare(b.Created), a.Admitted.Compare(b.Admitted)); order != 0 {
		return order, ByAge
	}
	return byKey(a, b), ByName
}

// Precedes reports whether the first of two namespaces comes first where both speak for a machine. Of two of the operator's, and of
// one and the same, neither does.
func Precedes(first string, a *Tenancy, second string, b *Tenancy) bool {
	order, _ := compareTenancy(&Assignment{Namespace: first, Tenancy: a}, &Assignment{Namespace: second, Tenancy: b})
	return first != second && order < 0
}

// compareTenancy orders by namespace. What tenants write of priority counts within their own namespace only: between two of them
// decides who was granted less beside it, and then which of them is older.
func compareTenancy(a, b *Assignment) (order int, by Rule) {
	switch {
	case a.Tenancy == nil && b.Tenancy == nil:
		return 0, ""
	case a.Tenancy == nil:
		return -1, ByOperator
	case b.Tenancy == nil:
		return 1, ByOperator
	}
	if order = cmp.Compare(a.Tenancy.Breadth, b.Tenancy.Breadth); order != 0 {
		return order, ByGrant
	}
	if a.Namespace == b.Namespace {
		return 0, ""
	}
	if order = a.Tenancy.Since.Compare(b.Tenancy.Since); order != 0 {
		return order, ByNamespace
	}
	return strings.Compare(a.Namespace, b.Namespace), ByName
}

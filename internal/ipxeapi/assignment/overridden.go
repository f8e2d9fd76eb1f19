package assignment

import (
	"slices"
	"strings"
)

// maxMachines bounds how many machines of an assignment Overrides tries to find one that it decides.
const maxMachines = 4096

// Override names the machines of an assignment that another one decides.
type Override struct {
	Winner *Assignment
	By     Rule
	// Key and Values say which machines, by a label of the overridden assignment; no key means all of them.
	Key    string
	Values []string
}

// Overrides returns the machines of an assignment that other assignments of its class decide, with another profile, whatever other
// labels these machines report; all reports whether none is left. Machines that an assignment of a stronger class decides do not
// count: that is what classes are for.
//
// An assignment that wins for certain selects by no key that the overridden one lacks. So one lookup finds it, for each value of the
// overridden one's first key and each shape of its keys, however many assignments there are.
func (x *Index) Overrides(a *Assignment) (overrides []Override, all bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if _, impossible := a.Selector.Impossible(); impossible {
		return nil, false
	}
	keys := a.Selector.keys()
	shapes := x.within(a)
	if len(keys) == 0 {
		if winner := best(shapes, a, "", ""); winner != nil {
			return addOverride(nil, a, winner, "", ""), true
		}
		return nil, false
	}
	var open []string // values of which no single assignment has all machines
	for _, value := range a.Selector[keys[0]] {
		if winner := best(shapes, a, keys[0], value); winner != nil {
			overrides = addOverride(overrides, a, winner, keys[0], value)
		} else {
			open = append(open, value)
		}
	}
	shared, all := x.shared(a, keys, open)
	if !all {
		return overrides, false
	}
	for _, l := range shared {
		overrides = addOverride(overrides, a, l.Winner, l.Key, l.Values[0])
	}
	return overrides, true
}

// shared returns the overrides of an assignment to several others that have its machines of some values between them; all reports whether
// these are all of its machines.
//
// A machine that reports the labels that the assignment selects by, and no others, is selected by the fewest other assignments. If
// these decide each such machine, they decide every machine.
func (x *Index) shared(a *Assignment, keys, open []string) (overrides []Override, all bool) {
	tried := 0
	for _, value := range open {
		some := Selector{keys[0]: {value}}
		for _, key := range keys[1:] {
			some[key] = a.Selector[key]
		}
		ok := some.each(keys, func(s Subject) bool {
			winner := x.decide(s)
			if tried++; tried > maxMachines || winner == nil || winner.Key() == a.Key() || !better(winner, a) || sameProfile(winner, a) {
				return false
			}
			overrides = append(overrides, Override{Winner: winner, Key: keys[0], Values: []string{value}})
			return true
		})
		if !ok {
			return nil, false
		}
	}
	return overrides, true
}

// each calls look with each machine that reports one value of each key, until look returns false; it reports whether look never did.
func (s Selector) each(keys []string, look func(Subject) bool) bool {
	at := make([]int, len(keys))
	for {
		machine := Subject{make([]label, 0, len(keys))}
		for i, key := range keys {
			machine.labels = append(machine.labels, label{key, s[key][at[i]]})
		}
		slices.SortFunc(machine.labels, func(a, b label) int { return strings.Compare(a.key, b.key) })
		if !look(machine) {
			return false
		}
		i := len(keys) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < len(s[keys[i]]) {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return true
		}
	}
}

// within returns the shapes of an assignment's class that have no key that it lacks.
func (x *Index) within(a *Assignment) []*shape {
	var found []*shape
	anchors := append([]string{""}, a.Selector.keys()...)
	for _, anchor := range anchors {
		for _, s := range x.anchored[anchor] {
			lacking := slices.ContainsFunc(s.keys, func(key string) bool { _, has := a.Selector[key]; return !has })
			if s.class == a.Class() && !lacking {
				found = append(found, s)
			}
		}
	}
	return found
}

// best returns the assignment that decides all machines of a with that value of the key; nil if a does, or if the profile is the
// same.
func best(shapes []*shape, a *Assignment, key, value string) *Assignment {
	winner := a
	var room [256]byte
	for _, s := range shapes {
		values := room[:0]
		for _, k := range s.keys {
			v := value
			if k != key {
				v = a.Selector[k][0]
			}
			values = append(append(values, v...), 0)
		}
		for _, other := range s.buckets[string(values)] { // the best first
			if order, _ := Compare(other, winner); order >= 0 {
				break
			}
			if other.Key() != a.Key() && covers(other.Selector, a.Selector, key, value) {
				winner = other
				break
			}
		}
	}
	if winner == a || sameProfile(winner, a) {
		return nil
	}
	return winner
}

// covers reports whether every machine that inner selects and that has that value of the key is selected by outer.
func covers(outer, inner Selector, key, value string) bool {
	for k, allowed := range outer {
		values, ok := inner[k]
		if k == key {
			values = []string{value}
		}
		if !ok || slices.ContainsFunc(values, func(v string) bool { return !has(allowed, v) }) {
			return false
		}
	}
	return true
}

func addOverride(overrides []Override, a, winner *Assignment, key, value string) []Override {
	at := slices.IndexFunc(overrides, func(l Override) bool { return l.Winner == winner })
	if at < 0 {
		_, by := Compare(winner, a)
		overrides, at = append(overrides, Override{Winner: winner, By: by, Key: key}), len(overrides)
	}
	if key != "" && !slices.Contains(overrides[at].Values, value) {
		overrides[at].Values = append(overrides[at].Values, value)
	}
	return overrides
}

// defeats reports whether a decides machines of other for certain, alone or with others: the reverse of Overrides. It selects by no
// key that other lacks.
func defeats(a, other *Assignment) bool {
	if sameProfile(a, other) || !better(a, other) {
		return false
	}
	for key, allowed := range a.Selector {
		values := other.Selector[key]
		if key == KeyArchitecture { // a machine may be known by its processor alone
			values = append(slices.Clone(values), other.Selector[KeyCPU]...)
		}
		if !slices.ContainsFunc(values, func(v string) bool { return has(allowed, v) }) {
			return false
		}
	}
	return true
}

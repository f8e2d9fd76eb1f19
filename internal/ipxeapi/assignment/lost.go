package assignment

import (
	"slices"
	"strings"
)

// maxMachines bounds how many machines of an assignment are tried to find one that it decides.
const maxMachines = 4096

// Loss is what an assignment selects and another one decides: [Index.Losses].
type Loss struct {
	Winner *Assignment
	By     Rule
	// Key and Values say which machines, in the words of the losing assignment; no key: all of them, whatever they are known by.
	Key    string
	Values []string
}

// Losses are the machines of an assignment that other assignments of its class decide, with another profile, whatever else these
// machines say of themselves; all says that none is left. Machines that an assignment of a stronger class has are
// not counted: to be special is what that is for.
//
// An assignment that wins for certain selects by no key that the loser lacks. So it is found by one lookup for each of the
// loser's first key's values and each shape of its own keys, however many assignments there are.
func (x *Index) Losses(a *Assignment) (losses []Loss, all bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if _, impossible := a.Selector.Impossible(); impossible {
		return nil, false
	}
	keys := a.Selector.keys()
	shapes := x.within(a)
	if len(keys) == 0 {
		if winner := best(shapes, a, "", ""); winner != nil {
			return lost(nil, a, winner, "", ""), true
		}
		return nil, false
	}
	var open []string // values of which no single assignment has all machines
	for _, value := range a.Selector[keys[0]] {
		if winner := best(shapes, a, keys[0], value); winner != nil {
			losses = lost(losses, a, winner, keys[0], value)
		} else {
			open = append(open, value)
		}
	}
	shared, all := x.shared(a, keys, open)
	if !all {
		return losses, false
	}
	for _, l := range shared {
		losses = lost(losses, a, l.Winner, l.Key, l.Values[0])
	}
	return losses, true
}

// shared are the losses of an assignment to several others that have its machines of some values between them; all says that these
// are all of its machines.
//
// Whoever says of himself what the assignment selects by, and nothing else, is selected by the fewest others. If those decide
// each such machine, they decide every one.
func (x *Index) shared(a *Assignment, keys, open []string) (losses []Loss, all bool) {
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
			losses = append(losses, Loss{Winner: winner, Key: keys[0], Values: []string{value}})
			return true
		})
		if !ok {
			return nil, false
		}
	}
	return losses, true
}

// each goes through the machines that say of themselves one value of each key, while look wants more; it reports whether it always did.
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

// within are the shapes of an assignment's class that have no key that it lacks.
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

// best is the assignment that decides all machines of a which have that value of the key; nil: a does, or it gives them the
// same profile.
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

func lost(losses []Loss, a, winner *Assignment, key, value string) []Loss {
	at := slices.IndexFunc(losses, func(l Loss) bool { return l.Winner == winner })
	if at < 0 {
		_, by := Compare(winner, a)
		losses, at = append(losses, Loss{Winner: winner, By: by, Key: key}), len(losses)
	}
	if key != "" && !slices.Contains(losses[at].Values, value) {
		losses[at].Values = append(losses[at].Values, value)
	}
	return losses
}

// defeats reports whether a decides machines of other for certain, alone or with others: the other side of Losses. It selects by nothing
// that other does not select by as well.
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

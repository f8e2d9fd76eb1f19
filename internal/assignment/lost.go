package assignment

import (
	"slices"
)

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
	all = true
	for _, value := range a.Selector[keys[0]] {
		winner := best(shapes, a, keys[0], value)
		if winner == nil {
			all = false
			continue
		}
		losses = lost(losses, a, winner, keys[0], value)
	}
	return losses, all
}

// within are the shapes of an assignment's class that have no key that it lacks.
func (x *Index) within(a *Assignment) []*shape {
	var found []*shape
	anchors := append([]string{""}, a.Selector.keys()...)
	for _, anchor := range anchors {
		for _, s := range x.anchored[anchor] {
			lacking := slices.ContainsFunc(s.keys, func(key string) bool { _, has := a.Selector[key]; return !has })
			if s.class() == a.Class() && !lacking {
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
	if key != "" {
		losses[at].Values = append(losses[at].Values, value)
	}
	return losses
}

// defeats reports whether a decides machines of other for certain: the other side of Losses.
func defeats(a, other *Assignment) bool {
	if a.Class() != other.Class() || sameProfile(a, other) || !better(a, other) {
		return false
	}
	keys := other.Selector.keys()
	if len(keys) == 0 {
		return len(a.Selector) == 0
	}
	return slices.ContainsFunc(other.Selector[keys[0]], func(value string) bool { return covers(a.Selector, other.Selector, keys[0], value) })
}

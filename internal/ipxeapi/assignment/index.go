package assignment

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// maxExpanded bounds under how many keys of a hash table one assignment is found.
const maxExpanded = 1024

// Index finds the assignments of a machine. It may be used by many at once.
//
// Assignments of one class that select by the same set of keys are of one shape. A machine's own
// values of those keys, put together, are the key of a hash table: one lookup a shape,
// however many assignments are of it. Fleets have few shapes.
type Index struct {
	mu     sync.RWMutex
	byKey  map[string]*Assignment // by namespace/name
	shapes map[string]*shape
	// anchored are the shapes by their first key, so that a machine that does not name it
	// looks at none of them. Those without a key are under "".
	anchored map[string][]*shape
	// duplicates are assignments with the same selector and priority, the best first.
	duplicates map[duplicateKey][]*Assignment

	put     func(*Assignment)
	deleted func(namespace, name string)
}

type duplicateKey struct {
	class    Class
	selector string
	priority int32
}

func duplicateKeyOf(a *Assignment) duplicateKey {
	return duplicateKey{a.Class(), a.Selector.String(), a.Priority}
}

// shape holds the assignments that select by the same keys.
type shape struct {
	name string
	// class is that of all assignments of the shape.
	class Class
	// keys are hashed; the rest of an assignment's keys, where together they have too many
	// values, is compared.
	keys    []string
	buckets map[string][]*Assignment // the best first
	// byFirst are the keys of buckets by the value of the first key, where there are others.
	byFirst map[string][]string
	members int
}

// NewIndex returns an empty index.
func NewIndex() *Index {
	return &Index{
		byKey: map[string]*Assignment{}, shapes: map[string]*shape{}, anchored: map[string][]*shape{}, duplicates: map[duplicateKey][]*Assignment{},
	}
}

// Observe has put told of every assignment that is added, and deleted of every one that is removed, in the order of the changes and
// while a lock is held: they must be quick, must not wait for anybody and must not ask the index. It is called once, before the first
// assignment.
func (x *Index) Observe(put func(*Assignment), deleted func(namespace, name string)) {
	x.put, x.deleted = put, deleted
}

// Put adds an assignment, in place of the one of the same name.
func (x *Index) Put(a *Assignment) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.put != nil {
		defer x.put(a)
	}
	a.entry = entryPrefix + a.Namespace + "/" + a.Name
	x.remove(a.Key())
	x.byKey[a.Key()] = a
	same := duplicateKeyOf(a)
	x.duplicates[same] = insert(x.duplicates[same], a)
	keys, combined := expand(a.Selector)
	if combined == nil {
		return // nothing can match it
	}
	a.class, a.breadth, a.hashed, a.indexed = a.Class(), a.Selector.breadth(), len(keys) == len(a.Selector), true
	s := x.shape(a.Class(), keys)
	s.members++
	for _, values := range combined {
		if s.buckets[values] = insert(s.buckets[values], a); len(s.buckets[values]) == 1 && len(keys) > 1 {
			first := firstOf(values)
			s.byFirst[first] = append(s.byFirst[first], values)
		}
	}
}

// Delete removes an assignment.
func (x *Index) Delete(namespace, name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, had := x.byKey[namespace+"/"+name]
	x.remove(namespace + "/" + name)
	if had && x.deleted != nil {
		x.deleted(namespace, name)
	}
}

// Get returns an assignment.
func (x *Index) Get(namespace, name string) (*Assignment, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	a, ok := x.byKey[namespace+"/"+name]
	return a, ok
}

// Len is how many assignments there are.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.byKey)
}

func (x *Index) remove(key string) {
	a, ok := x.byKey[key]
	if !ok {
		return
	}
	delete(x.byKey, key)
	same := duplicateKeyOf(a)
	if x.duplicates[same] = without(x.duplicates[same], a); len(x.duplicates[same]) == 0 {
		delete(x.duplicates, same)
	}
	keys, combined := expand(a.Selector)
	if combined == nil {
		return
	}
	s := x.shape(a.Class(), keys)
	for _, values := range combined {
		if s.buckets[values] = without(s.buckets[values], a); len(s.buckets[values]) == 0 {
			s.drop(values)
		}
	}
	if s.members--; s.members == 0 {
		delete(x.shapes, s.name)
		anchor := anchorOf(keys)
		if x.anchored[anchor] = slices.DeleteFunc(x.anchored[anchor], func(o *shape) bool { return o == s }); len(x.anchored[anchor]) == 0 {
			delete(x.anchored, anchor)
		}
	}
}

// drop forgets a bucket that is empty.
func (s *shape) drop(values string) {
	delete(s.buckets, values)
	first := firstOf(values)
	rest := slices.DeleteFunc(s.byFirst[first], func(v string) bool { return v == values })
	if s.byFirst[first] = rest; len(rest) == 0 {
		delete(s.byFirst, first)
	}
}

func firstOf(values string) string {
	first, _, _ := strings.Cut(values, "\x00")
	return first
}

// shape returns that of the keys and the class, a new one if there is none.
func (x *Index) shape(class Class, keys []string) *shape {
	name := class.String() + "\x00" + strings.Join(keys, "\x00")
	s := x.shapes[name]
	if s == nil {
		s = &shape{name: name, class: class, keys: keys, buckets: map[string][]*Assignment{}, byFirst: map[string][]string{}}
		x.shapes[name] = s
		x.anchored[anchorOf(keys)] = append(x.anchored[anchorOf(keys)], s)
	}
	return s
}

func anchorOf(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return keys[0]
}

// expand returns the keys under which a selector is hashed and all combinations of their
// values. Nil combinations mean that no machine can match.
func expand(s Selector) (keys, combined []string) {
	combined = []string{""}
	for _, key := range s.keys() {
		values := s[key]
		if len(values) == 0 {
			return nil, nil
		}
		// The first key is the strongest and hashed however many values it has.
		if len(keys) > 0 && len(combined)*len(values) > maxExpanded {
			continue
		}
		keys = append(keys, key)
		next := make([]string, 0, len(combined)*len(values))
		for _, prefix := range combined {
			for _, value := range values {
				next = append(next, prefix+value+"\x00")
			}
		}
		combined = next
	}
	return keys, combined
}

// Decision is what a machine is answered, and why.
type Decision struct {
	// Winner is the best assignment, nil if none matches. It is the answer also when it is
	// broken: a machine that somebody meant never gets what was meant for others.
	Winner *Assignment
}

// Decide finds the best assignment of a machine.
func (x *Index) Decide(subject Subject) Decision {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return Decision{x.decide(subject)}
}

// decide is Decide for whoever holds mu.
func (x *Index) decide(subject Subject) (winner *Assignment) {
	x.visit(subject, func(bucket []*Assignment) Class {
		for _, a := range bucket { // the first that matches is its best
			if !a.hashed && !a.Selector.Matches(subject) {
				continue
			}
			if winner == nil {
				winner = a
			} else if order, _ := Compare(a, winner); order < 0 {
				winner = a
			}
			break
		}
		if winner == nil {
			return Default
		}
		return winner.Class()
	})
	return winner
}

// Candidate is an assignment that matches, with the rule by which the one before it is better.
type Candidate struct {
	*Assignment
	By Rule // empty for the first
}

// Explain lists all assignments that match, the best first.
func (x *Index) Explain(subject Subject) []Candidate {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var found []*Assignment
	x.visit(subject, func(bucket []*Assignment) Class {
		for _, a := range bucket {
			if a.Selector.Matches(subject) {
				found = append(found, a)
			}
		}
		return Default
	})
	slices.SortFunc(found, func(a, b *Assignment) int { order, _ := Compare(a, b); return order })
	found = slices.Compact(found) // one with two of the machine's architectures is found twice
	candidates := make([]Candidate, 0, len(found))
	for i, a := range found {
		c := Candidate{Assignment: a}
		if i > 0 {
			_, c.By = Compare(found[i-1], a)
		}
		candidates = append(candidates, c)
	}
	return candidates
}

// identifying are the keys of the classes beyond Attribute, the strongest first.
var identifying = [...]string{KeyUUID, KeyMAC, KeySerial, KeyAsset, KeyHostname, KeyIP}

// visit calls look with every bucket in which an assignment of the machine can be, of the classes that look still wants: it returns the
// weakest of them. What identifies the machine comes first, so that whoever wants the best alone need not look at the rest.
func (x *Index) visit(subject Subject, look func([]*Assignment) Class) {
	var room [256]byte // of most machines' values
	least := Default
	narrow := func(bucket []*Assignment) { least = look(bucket) }
	at := func(anchor string) {
		for _, s := range x.anchored[anchor] {
			if s.class >= least {
				s.visit(subject, 0, room[:0], narrow)
			}
		}
	}
	for _, key := range identifying {
		if ClassOf(key) >= least && subject.Get(key) != "" {
			at(key)
		}
	}
	if least > Attribute {
		return // an anchor is of the class of its shapes, or of a stronger one
	}
	for _, l := range subject.labels {
		if ClassOf(l.key) == Attribute {
			at(l.key)
		}
	}
	if subject.Get(KeyArchitecture) == "" && subject.Get(KeyCPU) != "" {
		at(KeyArchitecture)
	}
	at("")
}

// visit puts the values of the shape's keys together, from the n-th on.
func (s *shape) visit(subject Subject, n int, values []byte, look func([]*Assignment)) {
	if n == len(s.keys) {
		if bucket := s.buckets[string(values)]; len(bucket) > 0 {
			look(bucket)
		}
		return
	}
	first, second := subject.values(s.keys[n])
	if first != "" {
		s.visit(subject, n+1, append(append(values, first...), 0), look)
	}
	if second != "" {
		s.visit(subject, n+1, append(append(values, second...), 0), look)
	}
}

func insert(sorted []*Assignment, a *Assignment) []*Assignment {
	at, _ := slices.BinarySearchFunc(sorted, a, func(e, t *Assignment) int { order, _ := Compare(e, t); return order })
	return slices.Insert(sorted, at, a)
}

func without(list []*Assignment, a *Assignment) []*Assignment {
	return slices.DeleteFunc(list, func(e *Assignment) bool { return e == a })
}

// byKey orders assignments by name, for lists that people read.
func byKey(a, b *Assignment) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

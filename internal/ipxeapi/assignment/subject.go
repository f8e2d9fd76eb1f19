package assignment

import (
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strings"
)

// Subject is a machine as it names itself: canonical labels, none of them empty and none
// a placeholder.
type Subject struct{ labels []label } // in order of their keys

type label struct{ key, value string }

// LabelError says which label of a request cannot be used, and why.
type LabelError struct{ Key, Reason string }

// Error never repeats a value: it comes from anybody.
func (e *LabelError) Error() string { return fmt.Sprintf("label %q: %s", e.Key, e.Reason) }

// NewSubject takes labels that have been read already. A key that is given twice must say the same
// both times, in whatever spelling; empty values and placeholders are absent.
func NewSubject(query url.Values) (Subject, error) {
	s := Subject{labels: make([]label, 0, len(query))}
	given := 0
	for key, values := range query {
		for _, value := range values {
			if given++; given > MaxLabels {
				return Subject{}, errTooMany
			}
			if err := s.add(key, makeupOf(key), value, makeupOf(value)); err != nil {
				return Subject{}, err
			}
		}
	}
	return s, nil
}

var errTooMany = &LabelError{Key: "…", Reason: fmt.Sprintf("more than %d labels", MaxLabels)}

// usual is how many labels a bootstrap script sends, and one more.
const usual = 16

// ReadQuery reads the labels of a URL's query as NewSubject does, and without its map.
func ReadQuery(raw string) (Subject, error) {
	var s Subject
	if err := s.Read(raw); err != nil {
		return Subject{}, err
	}
	return s, nil
}

// Read is ReadQuery for whoever has a subject that is used no more: s is the machine of the query then, and of nothing if there is an error.
func (s *Subject) Read(raw string) error {
	if cap(s.labels) == 0 {
		s.labels = make([]label, 0, usual)
	}
	clear(s.labels)
	s.labels = s.labels[:0]
	err := s.read(raw)
	if err != nil {
		s.labels = s.labels[:0]
	}
	return err
}

func (s *Subject) read(raw string) error {
	for given := 0; raw != ""; {
		var pair string
		if pair, raw, _ = strings.Cut(raw, "&"); pair == "" {
			continue
		}
		if given++; given > MaxLabels {
			return errTooMany
		}
		key, value, _ := strings.Cut(pair, "=")
		ofKey, ofValue := makeupOf(key), makeupOf(value)
		if (ofKey|ofValue)&escaping != 0 {
			var err error
			if key, err = url.QueryUnescape(key); err != nil {
				return &LabelError{Key: "…", Reason: "the key is not escaped as a URL is"}
			}
			if value, err = url.QueryUnescape(value); err != nil {
				return &LabelError{Key: shown(key), Reason: "the value is not escaped as a URL is"}
			}
			ofKey, ofValue = makeupOf(key), makeupOf(value)
		}
		if err := s.add(key, ofKey, value, ofValue); err != nil {
			return err
		}
	}
	return nil
}

// RepairQuery is the query that iPXE meant. One before 2021 takes its URLs apart and puts them together again without what
// its script had escaped: of "A+B & C" arrives "A+B%20&%20C". Nothing is lost by that, since iPXE writes a space as
// %20 and each label with an equals sign: a plus is a plus, and what lacks the sign belongs to the value before it.
func RepairQuery(raw string) string {
	if strings.IndexByte(raw, '+') >= 0 {
		raw = strings.ReplaceAll(raw, "+", "%2B")
	}
	from := 0
	for range MaxLabels { // more are refused anyway
		next := strings.IndexByte(raw[from:], '&')
		if next < 0 {
			break
		}
		from += next + 1
		pair, _, _ := strings.Cut(raw[from:], "&")
		if pair != "" && !strings.Contains(pair, "=") {
			raw = raw[:from-1] + "%26" + raw[from:]
		}
	}
	return raw
}

// add adds a label, of whose key and value the makeup is known.
func (s *Subject) add(written string, ofKey makeup, value string, ofValue makeup) error {
	if len(written) > MaxKey {
		return &LabelError{Key: shown(written[:16]) + "…", Reason: fmt.Sprintf("the key is longer than %d bytes", MaxKey)}
	}
	if why := ofKey.refusal(written); why != "" {
		return &LabelError{Key: shown(written), Reason: why}
	}
	if value == "" { // as a bootstrap script sends what firmware does not know
		return nil
	}
	key := canonicalName(written)
	if ofKey != 0 {
		key = CanonicalKey(written)
	}
	if len(value) > MaxValue {
		return &LabelError{Key: key, Reason: fmt.Sprintf("longer than %d bytes", MaxValue)}
	}
	if why := ofValue.refusal(value); why != "" {
		return &LabelError{Key: key, Reason: why}
	}
	value = CanonicalValue(key, value)
	if key == "" || value == "" || Placeholder(key, value) {
		return nil
	}
	at, had := slices.BinarySearchFunc(s.labels, key, func(l label, k string) int { return strings.Compare(l.key, k) })
	if had && s.labels[at].value != value {
		return &LabelError{Key: key, Reason: "given twice with different values"}
	}
	if !had {
		s.labels = slices.Insert(s.labels, at, label{key, value})
	}
	return nil
}

func shown(key string) string { return strings.ToValidUTF8(key, "?") }

// Get returns the value of a canonical key, empty if the machine did not name it.
func (s Subject) Get(key string) string {
	for i := range s.labels {
		if s.labels[i].key == key {
			return s.labels[i].value
		}
	}
	return ""
}

// values are what a selector may mean by a key. A 64-bit processor runs BIOS iPXE built for
// i386: whoever assigns by architecture may mean either.
func (s Subject) values(key string) (first, second string) {
	first = s.Get(key)
	if key == KeyArchitecture {
		if second = s.Get(KeyCPU); second == first {
			second = ""
		}
	}
	return first, second
}

// Without is the machine without some labels.
func (s Subject) Without(keys ...string) Subject {
	rest := make([]label, 0, len(s.labels))
	for _, l := range s.labels {
		if !slices.Contains(keys, l.key) {
			rest = append(rest, l)
		}
	}
	return Subject{rest}
}

// All goes through the labels in the order of their keys.
func (s Subject) All() iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for i := range s.labels {
			if !yield(s.labels[i].key, s.labels[i].value) {
				return
			}
		}
	}
}

// Labels returns a copy of all labels.
func (s Subject) Labels() map[string]string {
	labels := make(map[string]string, len(s.labels))
	for _, l := range s.labels {
		labels[l.key] = l.value
	}
	return labels
}

// Keys returns the canonical keys in order.
func (s Subject) Keys() []string {
	keys := make([]string, 0, len(s.labels))
	for _, l := range s.labels {
		keys = append(keys, l.key)
	}
	return keys
}

package allocator

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// request is what a claim asks for. Claims that ask for the same share one.
type request struct {
	key         string
	server      string // empty: not by name
	selector    labels.Selector
	tolerations []metalv1.Toleration
	// positive holds the requirements that need a label, each as the terms of which a server must have one.
	positive [][]term
	// simple reports whether the selector has at most one requirement, and that one is positive: its
	// terms find exactly the servers that it matches.
	simple bool

	waiting []*pending // oldest first
	filed   []term
	// unmatched reports whether no free server fits, and none that fits has become free since.
	unmatched bool
}

// term is a label that servers have: a key with a value, or a key whatever its value.
type term struct {
	key, value string
	any        bool
}

// anything is the term that every server has.
var anything = term{any: true}

// errNameless is for a claim whose spec.serverRef has no name. It cannot be bound: the name would have to be written into a field that is
// immutable.
var errNameless = errors.New("spec.serverRef has no name. Delete the claim and create it again without spec.serverRef, or with a name")

// newRequest reads what a claim asks for.
func newRequest(c *metalv1.ServerClaim) (*request, error) {
	req := &request{selector: labels.Everything(), tolerations: c.Spec.Tolerations}
	if c.Spec.ServerRef != nil {
		if c.Spec.ServerRef.Name == "" {
			return nil, errNameless
		}
		req.server = c.Spec.ServerRef.Name
	}
	if c.Spec.ServerSelector != nil {
		s, err := metav1.LabelSelectorAsSelector(c.Spec.ServerSelector)
		if err != nil {
			return nil, fmt.Errorf("spec.serverSelector: %w", err)
		}
		req.selector = s
	}
	requirements, _ := req.selector.Requirements()
	for _, r := range requirements {
		if terms := positive(r); len(terms) > 0 {
			req.positive = append(req.positive, terms)
		}
	}
	req.simple = len(requirements) == 0 || len(requirements) == 1 && len(req.positive) == 1
	req.key = strings.Join([]string{req.server, req.selector.String(), tolerationsKey(req.tolerations)}, "\n")
	return req, nil
}

// positive returns the terms of which a server must have one; none for a requirement that forbids labels.
func positive(r labels.Requirement) []term {
	var terms []term
	switch r.Operator() {
	case selection.Equals, selection.DoubleEquals, selection.In:
		for value := range r.Values() {
			terms = append(terms, term{key: r.Key(), value: value})
		}
		slices.SortFunc(terms, func(a, b term) int { return cmp.Compare(a.value, b.value) })
	case selection.Exists:
		terms = []term{{key: r.Key(), any: true}}
	}
	return terms
}

func tolerationsKey(tolerations []metalv1.Toleration) string {
	keys := make([]string, 0, len(tolerations))
	for _, t := range tolerations {
		keys = append(keys, fmt.Sprintf("%q %q %q %q", t.Key, t.Operator, t.Value, t.Effect))
	}
	slices.Sort(keys)
	return strings.Join(slices.Compact(keys), ",")
}

// matches reports whether a server is what the request asks for, free or not.
func (req *request) matches(s *server) bool {
	return (req.server == "" || req.server == s.name) && req.selector.Matches(labels.Set(s.labels))
}

// tolerates reports whether no taint keeps the claim away. An empty effect is NoBind; Evict does nothing.
func (req *request) tolerates(taints []metalv1.Taint) bool {
	return firstTaint(taints, req.tolerations) == nil
}

func firstTaint(taints []metalv1.Taint, tolerations []metalv1.Toleration) *metalv1.Taint {
	for i, t := range taints {
		if t.Effect != metalv1.TaintEffectEvict && !slices.ContainsFunc(tolerations, func(o metalv1.Toleration) bool { return o.Tolerates(t) }) {
			return &taints[i]
		}
	}
	return nil
}

// Fits reports whether a claim may get a server as it is now.
func Fits(c *metalv1.ServerClaim, s *metalv1.Server) bool {
	req, err := newRequest(c)
	return err == nil && Free(s) && req.matches(&server{name: s.Name, labels: s.Labels}) && req.tolerates(s.Spec.Taints)
}

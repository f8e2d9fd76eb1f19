package profile

import "github.com/farrier-dev/farrier/internal/ipxeapi/assignment"

// Candidate is an assignment that matches a machine, in words for people and programs.
type Candidate struct {
	Assignment string `json:"assignment"` // namespace/name
	Profile    string `json:"profile,omitempty"`
	Priority   int32  `json:"priority"`
	Class      string `json:"class"`
	Selector   string `json:"selector"`
	// Rule is what puts the candidate before this one.
	Rule string `json:"rule,omitempty"`
	// Problem is why it cannot be served.
	Problem string `json:"problem,omitempty"`
	// Conflict and Peers say to whom it yields without that its authors could have known.
	Conflict string   `json:"conflict,omitempty"`
	Peers    []string `json:"peers,omitempty"`
}

// Candidates lists the assignments that match a machine, the best first. That one is served, or, where it has a
// problem, nothing is.
func (v *View) Candidates(subject assignment.Subject) []Candidate {
	candidates := []Candidate{}
	for _, a := range v.Explain(subject) {
		c := Candidate{
			Assignment: a.Key(), Profile: a.Profile, Priority: a.Priority, Class: a.Class().String(), Selector: a.Selector.String(),
			Rule: string(a.By), Problem: v.problem(a.Assignment),
		}
		if conflict, ok := v.Conflicts(a.Assignment); ok {
			c.Conflict = string(conflict.Kind)
			for _, peer := range conflict.Peers {
				c.Peers = append(c.Peers, peer.Key())
			}
		}
		candidates = append(candidates, c)
	}
	return candidates
}

// problem says why an assignment cannot be served.
func (v *View) problem(a *assignment.Assignment) string {
	if a.Broken != "" {
		return a.Broken
	}
	p, ok := v.Profile(a.Namespace, a.Profile)
	switch {
	case !ok:
		return "Profile " + a.Profile + " does not exist or is not usable"
	case p.broken != nil:
		return "Profile " + a.Profile + ": " + p.broken.Error()
	}
	return ""
}

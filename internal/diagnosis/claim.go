package diagnosis

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// closest adds which Server meets most of a claim's selector, and what it lacks.
func (f *Facts) closest(a *Answer) {
	selector, err := metav1.LabelSelectorAsSelector(f.Claim.Spec.ServerSelector)
	if err != nil || f.Claim.Spec.ServerSelector == nil || f.Servers == nil {
		return
	}
	requirements, _ := selector.Requirements()
	best, met, lacks := "", -1, labels.Requirement{}
	for i := range f.Servers {
		s, n := &f.Servers[i], 0
		var lacking labels.Requirement
		for _, r := range requirements {
			if r.Matches(labels.Set(s.Labels)) {
				n++
			} else {
				lacking = r
			}
		}
		if n > met {
			best, met, lacks = s.Name, n, lacking
		}
	}
	switch {
	case best == "":
		a.Cause = f.names(nil).Replace("No Server exists that {claim} could have.")
		a.Next = "Make Endpoints for BMCs (docs/bmcs.md), and wait until their Servers are Available."
	case met < len(requirements):
		a.Evidence = append(a.Evidence, fmt.Sprintf("The closest of %d Servers is %s: it meets %d of %d requirements, and not %q", len(f.Servers), best, met, len(requirements), lacks.String()))
	}
}

package index

import (
	"fmt"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/assignment"
)

// Twin is the same for Assignments that select the same machines at the same priority, however their labels are spelled.
func Twin(a *ipxev1.Assignment) string {
	return fmt.Sprintf("%d %s", a.Spec.Priority, assignment.NewSelector(a.Spec.SubjectSelector, a.Spec.SubjectSelectors))
}

package allocator

import (
	"fmt"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// PowerProblem returns a sentence about an invalid power of a claim; empty if it is valid. The API has a plain string there, with
// two valid values.
func PowerProblem(power metalv1.Power) string {
	switch power {
	case metalv1.PowerOn, metalv1.PowerOff:
		return ""
	}
	return fmt.Sprintf("%.64q is neither %s nor %s: Farrier leaves the power of the server as it is", string(power), metalv1.PowerOn, metalv1.PowerOff)
}

package allocator

import (
	"fmt"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// PowerProblem is what is wrong with the power that a claim asks for, in words; empty: nothing is. The contract has a plain string
// there, of which two values mean anything.
func PowerProblem(power metalv1.Power) string {
	switch power {
	case metalv1.PowerOn, metalv1.PowerOff:
		return ""
	}
	return fmt.Sprintf("%.64q is neither %s nor %s: the power of the server is left as it is", string(power), metalv1.PowerOn, metalv1.PowerOff)
}

package admission

import (
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
)

var (
	cleanupWords = []string{metalv1.CleanupNone, metalv1.CleanupMetadata, metalv1.CleanupFull, metalv1.CleanupBootOrder, metalv1.CleanupBIOSDefaults}
	// cleanupLevels are those of cleanupWords of which there can be one.
	cleanupLevels = cleanupWords[:3]
	bootPolicies  = []string{string(metalv1.BootPolicyAlways), string(metalv1.BootPolicyOnce)}

	// operationWords are all operations on any kind: a controller that knows one and does not do it says so itself.
	operationWords = []string{
		metalv1.OperationIgnore, metalv1.OperationRetry, metalv1.OperationPark, metalv1.OperationUnpark, metalv1.OperationRotateCredentials,
		metalv1.OperationGracefulRestartServer, metalv1.OperationHardRestartServer, metalv1.OperationPowerCycleServer,
		metalv1.OperationForceOffServer, metalv1.OperationForceOnServer, metalv1.OperationGracefulRestartBMC, metalv1.OperationForceRestartBMC,
		metalv1.OperationAllowInProgressDelete, metalv1.OperationAllowInProgressUpdate, metalv1.OperationIgnoreChild, metalv1.OperationRetryChild,
		metalv1.OperationIgnoreChildAndSelf, metalv1.OperationRetryChildAndSelf, metalv1.OperationIgnorePropagated, metalv1.OperationRetryPropagated,
		metalv1.OperationRollback,
	}
)

// operations warns of an operation that nobody knows. It is not refused: the contract is that the controller removes it with an event.
func operations(_ context.Context, c *check) error {
	operation, set := metalv1.OperationOf(c.Object)
	if !set || slices.Contains(operationWords, operation) {
		return nil
	}
	if c.Old != nil {
		if before, _ := metalv1.OperationOf(c.Old); before == operation {
			return nil
		}
	}
	c.warn(annotation(metalv1.AnnotationOperation), "%.64q is not an operation and will be removed", operation)
	return nil
}

// cleanup refuses ways of cleaning that nobody knows, and two levels at once: a disk is not wiped because of a spelling mistake otherwise.
func (c *check) cleanup(now, before client.Object) {
	words, set := annotated(now, before, metalv1.AnnotationCleanup)
	if !set {
		return
	}
	path := annotation(metalv1.AnnotationCleanup)
	level := ""
	for word := range strings.SplitSeq(words, ",") {
		word = strings.TrimSpace(word)
		switch {
		case !slices.Contains(cleanupWords, word):
			c.refuse(field.NotSupported(path, word, cleanupWords))
		case slices.Contains(cleanupLevels, word) && level != "" && level != word:
			c.refuse(field.Invalid(path, words, "at most one of "+strings.Join(cleanupLevels, ", ")))
		case slices.Contains(cleanupLevels, word):
			level = word
		}
	}
}

// bootPolicy refuses a boot policy that nobody knows.
func (c *check) bootPolicy(now, before client.Object) {
	policy, set := annotated(now, before, metalv1.AnnotationBootPolicy)
	if set && !slices.Contains(bootPolicies, policy) {
		c.refuse(field.NotSupported(annotation(metalv1.AnnotationBootPolicy), policy, bootPolicies))
	}
}

// reason is what is wrong with a value that goes into a script, without the name that the script's renderer has for it.
func reason(err error) string {
	var wrong *bootview.ValueError
	if errors.As(err, &wrong) {
		return wrong.Problem
	}
	return err.Error()
}

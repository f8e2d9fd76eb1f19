package rolloutpermit

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Permit lets one object begin.
type Permit struct {
	// Begun is since when the object may begin. Wave is the number of the wave that it is of, from 1; zero: it was given by an earlier version.
	Begun time.Time `json:"begun"`
	Wave  int       `json:"wave,omitempty"`
	// Health is the worst health of its servers when it began; empty: they were well, or their BMCs did not say.
	Health string `json:"health,omitempty"`
	// Changed is when its change was complete. Its servers may take longer to be available again.
	Changed time.Time `json:"changed,omitzero"`
	// Returned is when its servers were available again, and came to the gates of the wave. Skipped is how many of them the gates did not look at.
	Returned time.Time `json:"returned,omitzero"`
	Skipped  int       `json:"skipped,omitempty"`
	// Ended is when the change was over. The permit is closed then.
	Ended time.Time `json:"ended,omitzero"`
	// Failure is the reason for which it failed; empty: it did not.
	Failure string `json:"failure,omitempty"`
}

// Of is the permit of an object, nil where there is none, or none that can be read.
func Of(obj metav1.Object) *Permit {
	text, ok := obj.GetAnnotations()[metalv1.AnnotationRolloutPermit]
	if !ok {
		return nil
	}
	var p Permit
	if json.Unmarshal([]byte(text), &p) != nil || p.Begun.IsZero() {
		return nil
	}
	return &p
}

// Open reports whether the object may begin.
func (p *Permit) Open() bool { return p != nil && p.Ended.IsZero() }

// Set gives an object a permit; nil takes it away. Nothing is written.
func Set(obj metav1.Object, p *Permit) {
	annotate(obj, metalv1.AnnotationRolloutPermit, p.text())
}

// SetPolicy has an object go by a policy; an empty one: by none. Nothing is written.
func SetPolicy(obj metav1.Object, policy string) {
	annotate(obj, metalv1.AnnotationRolloutPolicy, policy)
}

func (p *Permit) text() string {
	if p == nil {
		return ""
	}
	text, err := json.Marshal(p)
	if err != nil { // times beyond the year 9999
		return ""
	}
	return string(text)
}

// annotate sets an annotation in a map of its own, or removes it.
func annotate(obj metav1.Object, key, value string) {
	annotations := make(map[string]string, len(obj.GetAnnotations())+1)
	for k, v := range obj.GetAnnotations() {
		annotations[k] = v
	}
	if delete(annotations, key); value != "" {
		annotations[key] = value
	}
	obj.SetAnnotations(annotations)
}

// NoPolicy is the value of the annotation of a Set that goes by no policy, whatever the default is.
const NoPolicy = "none"

// PolicyOf names the RolloutPolicy that a Set goes by; empty: by none.
func PolicyOf(set metav1.Object, defaults bool) string {
	policy := set.GetAnnotations()[metalv1.AnnotationRolloutPolicy]
	switch {
	case policy == NoPolicy:
		return ""
	case policy == "" && defaults:
		return farrierv1.DefaultRolloutPolicy
	}
	return policy
}

// Waits names the policy that has not let an object begin; empty: none is in its way.
func Waits(obj metav1.Object) (policy string) {
	if policy = obj.GetAnnotations()[metalv1.AnnotationRolloutPolicy]; policy == "" || Of(obj).Open() {
		return ""
	}
	return policy
}

// Accept is the value of the annotation that so many failures of the rollout of a Set, as it is now, have been looked at.
func Accept(set metav1.Object, failures int) string {
	return fmt.Sprintf("%d@%d", failures, set.GetGeneration())
}

// AcceptedFailures is how many failures of the rollout of a Set, as it is now, a person has looked at.
func AcceptedFailures(set metav1.Object) int {
	number, generation, ok := strings.Cut(set.GetAnnotations()[metalv1.AnnotationFailuresAccepted], "@")
	n, err := strconv.ParseUint(number, 10, 31)
	if !ok || err != nil || generation != strconv.FormatInt(set.GetGeneration(), 10) {
		return 0
	}
	return int(n)
}

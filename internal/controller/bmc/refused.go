package bmc

import (
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// refusedRetry is how much later a Server that the API refused is tried again: what is in its way may be gone.
const refusedRetry = time.Minute

// refuse notes that the API found a Server invalid, such as one whose machine has a Server already, and reports whether it did. The
// BMC itself goes on: its status says what is wrong.
func (s *scope) refuse(err error) bool {
	if !apierrors.IsInvalid(err) {
		return false
	}
	s.refused = errors.Join(s.refused, err)
	s.again(refusedRetry)
	return true
}

// withRefused adds what the API refused to a condition of ConditionDegraded.
func withRefused(c *metav1.Condition, refused error) *metav1.Condition {
	if refused == nil {
		return c
	}
	said := metav1.Condition{Status: metav1.ConditionTrue, Reason: metalv1.ReasonServerRefused, Message: strings.ReplaceAll(refused.Error(), "\n", ". ")}
	if c != nil && c.Status == metav1.ConditionTrue && c.Reason != said.Reason {
		said.Message += ". " + c.Message
	}
	return &said
}

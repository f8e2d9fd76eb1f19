package controlplane

import (
	"context"
	"io"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

const (
	// roomPlugin is the name of the admission plugin that refuses requests while the disk is full.
	roomPlugin = "FarrierDisk"
	// roomRetrySeconds is when a refused request may be tried again. kubectl does that ten times before it says anything.
	roomRetrySeconds = 1
)

// reasonInsufficientStorage is the reason of a refusal: HTTP 507 (RFC 4918 §11.5).
const reasonInsufficientStorage metav1.StatusReason = "InsufficientStorage"

// roomAdmission refuses what would be stored while there is no room for it.
type roomAdmission struct {
	*admission.Handler
	room func() error
}

var _ admission.MutationInterface = roomAdmission{}

func newRoomAdmission(room func() error) AdmissionPlugin {
	return AdmissionPlugin{Name: roomPlugin, Factory: func(io.Reader) (admission.Interface, error) {
		return roomAdmission{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete), room: room}, nil
	}}
}

// Admit implements admission.MutationInterface.
func (r roomAdmission) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	switch group := a.GetResource().Group; {
	case a.IsDryRun(), group == authenticationv1.GroupName, group == authorizationv1.GroupName: // questions, of which nothing is stored
		return nil
	case a.GetSubresource() == "token":
		return nil
	}
	if err := r.room(); err != nil {
		return insufficientStorage(err)
	}
	return nil
}

func insufficientStorage(err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInsufficientStorage, Reason: reasonInsufficientStorage, Message: err.Error(),
		Details: &metav1.StatusDetails{RetryAfterSeconds: roomRetrySeconds},
	}}
}

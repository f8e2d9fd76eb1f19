package bmc

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/identity"
)

// describe writes what is known of a BMC into its status.
func describe(s *scope, skipVerify bool) {
	obj, status := s.obj, &s.obj.Status
	status.ObservedGeneration = obj.Generation
	describeManager(s)
	if at := lastReset(obj); !at.IsZero() {
		status.LastResetTime = &metav1.Time{Time: at}
	}
	set := func(kind string, c *metav1.Condition) {
		if c == nil {
			apimeta.RemoveStatusCondition(&status.Conditions, kind)
			return
		}
		c.Type, c.ObservedGeneration = kind, obj.Generation
		apimeta.SetStatusCondition(&status.Conditions, *c)
	}
	ready := condition(s.observation, s.unresolved, obj.Spec.BMCSecretRef.Name, s.counts)
	ready.Message += s.hint()
	set(metalv1.ConditionReady, &ready)
	set(metalv1.ConditionReset, resetCondition(s))
	set(metalv1.ConditionDegraded, withRefused(degradedCondition(status.Conditions, s.observation), s.refused))
	if s.target.Endpoint.Host != "" {
		set(metalv1.ConditionSecure, secureCondition(s.target.Endpoint, s.certificate, skipVerify, s.observation))
	}
	if s.target.Secret != nil {
		set(metalv1.ConditionDefaultCredentials, s.login.condition())
	}
	set(metalv1.ConditionCredentialsUsed, credentialsUsedCondition(s.overriddenBy))
	if s.rotating != nil && s.rotating.said != nil {
		set(metalv1.ConditionRotated, s.rotating.said)
	}
	if s.observation.Manager.URI != "" {
		set(metalv1.ConditionIdentity, identityCondition(obj, s.observation.Manager))
	}
	switch m := s.observation.Manager; {
	case ready.Status == metav1.ConditionTrue && m.State != "":
		status.State = metalv1.BMCState(m.State)
	case ready.Status == metav1.ConditionTrue:
		status.State = metalv1.BMCStateEnabled
	case ready.Status == metav1.ConditionFalse:
		status.State = metalv1.BMCStateError
	case status.State == "":
		status.State = metalv1.BMCStatePending
	}
}

func describeManager(s *scope) {
	status := &s.obj.Status
	if ip, err := identity.IP(s.target.Address.IP); err == nil {
		status.IP = ip
	}
	if mac, err := identity.MAC(s.target.Address.MAC); err == nil {
		status.MACAddress = mac
	}
	m := s.observation.Manager
	if m.URI == "" {
		return
	}
	status.Manufacturer, status.Model, status.SKU, status.SerialNumber = m.Manufacturer, m.Model, m.SKU, m.SerialNumber
	status.FirmwareVersion, status.PowerState = m.FirmwareVersion, metalv1.PowerState(m.PowerState)
	if status.MACAddress == "" {
		status.MACAddress = m.MACAddress
	}
}

// condition is the Ready condition, with the reasons of the contract. counts is the object whose credentials are used.
func condition(o fleet.Observation, resolveErr error, secret string, counts connection.Candidate) metav1.Condition {
	c := metav1.Condition{Type: metalv1.ConditionReady, Status: metav1.ConditionFalse}
	var terminal reconcileerror.Terminal
	switch {
	case errors.As(resolveErr, &terminal):
		c.Reason, c.Message = terminal.Reason, terminal.Error()
	case resolveErr != nil:
		c.Reason, c.Message = metalv1.ReasonUnknownError, resolveErr.Error()
	case o.Err != nil:
		c.Reason, c.Message = reasonOf(o.Err), o.Err.Error()
		if todo := advice(o.Err, secret, counts); todo != "" {
			c.Message += ". " + todo
		}
	case o.Time.IsZero():
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, metalv1.ReasonNotObserved, "Waiting for the BMC's first answer"
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, metalv1.ReasonConnected, answers(o.Symptoms.Basic)
	}
	return c
}

func reasonOf(err error) string {
	if e, ok := errors.AsType[*bmc.Error](err); ok && e.StatusCode == http.StatusForbidden {
		return metalv1.ReasonAuthenticationFailed // the account is at fault, whatever it was refused
	}
	switch bmc.KindOf(err) {
	case bmc.KindAuthentication:
		return metalv1.ReasonAuthenticationFailed
	case bmc.KindConnection, bmc.KindTimeout:
		return metalv1.ReasonConnectionFailed
	case bmc.KindUntrusted:
		return metalv1.ReasonUntrusted
	case bmc.KindServer:
		return metalv1.ReasonInternalServerError
	}
	return metalv1.ReasonUnknownError
}

// resetCondition says how a restart of the BMC stands, or how the last one ended; nil if there was none.
func resetCondition(s *scope) *metav1.Condition {
	earlier := apimeta.FindStatusCondition(s.obj.Status.Conditions, metalv1.ConditionReset)
	started := s.obj.Annotations[metalv1.AnnotationOperationStarted]
	switch {
	case started != "" && !isRotation(started):
		c := &metav1.Condition{Status: metav1.ConditionTrue, Reason: metalv1.ReasonUserRequested, Message: "Restarting the BMC"}
		if strings.HasPrefix(started, operationAutoReset+"@") {
			c.Reason = metalv1.ReasonAutoResetting
		}
		if s.reset != nil && s.reset.method != methodNone {
			c.Message = fmt.Sprintf("Restarting the BMC over %s", s.reset.method)
		}
		return c
	case s.resetErr != nil:
		return &metav1.Condition{Status: metav1.ConditionFalse, Reason: resetReason(s.resetErr), Message: s.resetErr.Error()}
	case earlier != nil && earlier.Status == metav1.ConditionFalse:
		return earlier
	case earlier != nil || !lastReset(s.obj).IsZero():
		return &metav1.Condition{Status: metav1.ConditionFalse, Reason: metalv1.ReasonResetComplete, Message: "No restart in progress"}
	}
	return nil
}

// heldCondition says that somebody else's credentials are used; nil if nobody's are.
func credentialsUsedCondition(by string) *metav1.Condition {
	if by == "" {
		return nil
	}
	return &metav1.Condition{
		Status: metav1.ConditionFalse, Reason: metalv1.ReasonOtherHolder,
		Message: by + " names the same BMC with other credentials, and Farrier uses those",
	}
}

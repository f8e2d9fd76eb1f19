package bmc

import (
	"errors"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/outcome"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/identity"
)

// describe writes what is known of a BMC into its status.
func describe(obj *metalv1.BMC, address connection.Address, o fleet.Observation, resolveErr error) {
	status := &obj.Status
	status.ObservedGeneration = obj.Generation
	if ip, err := identity.IP(address.IP); err == nil {
		status.IP = ip
	}
	if mac, err := identity.MAC(address.MAC); err == nil {
		status.MACAddress = mac
	}
	if m := o.Manager; m.URI != "" {
		status.Manufacturer = m.Manufacturer
		status.Model = m.Model
		status.SKU = m.SKU
		status.SerialNumber = m.SerialNumber
		status.FirmwareVersion = m.FirmwareVersion
		status.PowerState = metalv1.PowerState(m.PowerState)
		if status.MACAddress == "" {
			status.MACAddress = m.MACAddress
		}
	}
	ready := condition(o, resolveErr)
	ready.ObservedGeneration = obj.Generation
	apimeta.SetStatusCondition(&status.Conditions, ready)
	switch {
	case ready.Status == metav1.ConditionTrue && o.Manager.State != "":
		status.State = metalv1.BMCState(o.Manager.State)
	case ready.Status == metav1.ConditionTrue:
		status.State = metalv1.BMCStateEnabled
	case ready.Status == metav1.ConditionFalse:
		status.State = metalv1.BMCStateError
	case status.State == "":
		status.State = metalv1.BMCStatePending
	}
}

// condition is the Ready condition, with the reasons of the contract.
func condition(o fleet.Observation, resolveErr error) metav1.Condition {
	c := metav1.Condition{Type: metalv1.ConditionReady, Status: metav1.ConditionFalse}
	var terminal outcome.Terminal
	switch {
	case errors.As(resolveErr, &terminal):
		c.Reason, c.Message = terminal.Reason, terminal.Error()
	case resolveErr != nil:
		c.Reason, c.Message = metalv1.ReasonUnknownError, resolveErr.Error()
	case o.Err != nil:
		c.Reason, c.Message = reasonOf(o.Err), o.Err.Error()
	case o.Time.IsZero():
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, "NotObserved", "The BMC has not been heard of yet"
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, metalv1.ReasonConnected, "The BMC answers"
	}
	return c
}

func reasonOf(err error) string {
	switch bmc.KindOf(err) {
	case bmc.KindAuthentication:
		return metalv1.ReasonAuthenticationFailed
	case bmc.KindConnection, bmc.KindTimeout:
		return metalv1.ReasonConnectionFailed
	case bmc.KindServer:
		return metalv1.ReasonInternalServerError
	}
	return metalv1.ReasonUnknownError
}

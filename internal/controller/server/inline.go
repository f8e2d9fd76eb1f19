package server

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// hold has the inline BMC of a server asked, with its credentials or with those of somebody who comes before it.
func (r *Reconciler) hold(ctx context.Context, v *View, inline *metalv1.BMCAccess) (fleet.Key, error) {
	endpoint, err := connection.Endpoint(inline.Address, inline.Protocol)
	if err != nil {
		return "", err
	}
	secrets := connection.Secrets{Reader: r.APIReader, Namespace: r.Namespace}
	secret, credentials, err := secrets.Read(ctx, inline.BMCSecretRef.Name)
	r.backings.Note(v.Server.Name, secret)
	if err != nil {
		return "", err
	}
	candidate := connection.Candidate{Inline: true, Name: v.Server.Name, Created: v.Server.CreationTimestamp.Time}
	connected := r.Registry.Connect(&r.Wake, candidate, fleet.Spec{Endpoint: endpoint, Credentials: credentials})
	if connected.Last {
		r.Fleet.Remove(connected.Before)
	}
	v.OverriddenBy = connected.Instead
	return connected.Key, nil
}

// place writes down where the system of an inline BMC is: tools that speak Redfish themselves need its URI. Of a BMC object's systems its own
// controller does that.
func (v *View) place(p *Plan) {
	if v.Server.Spec.BMC == nil || v.System == nil || v.Server.Spec.SystemURI == v.System.URI {
		return
	}
	uri := v.System.URI
	p.alsoFacts(func(s *metalv1.Server) { s.Spec.SystemURI = uri })
}

// letGo forgets that a server had an inline BMC.
func (r *Reconciler) letGo(name string) {
	r.Registry.Withdraw(&r.Wake, name)
	r.backings.Note(name, nil)
}

// Unsubscriber removes what Farrier has left at an inline BMC, such as subscriptions to its events.
type Unsubscriber interface {
	// UnsubscribeServer reports whether that is over; if not, it is asked again when the BMC's observation has changed. It
	// must come to an end though the BMC does not answer.
	UnsubscribeServer(server *metalv1.Server, key fleet.Key) (over bool, err error)
}

// unsubscribe removes what Farrier has left at the inline BMC of a server that is being deleted. One whose address or credentials are gone already
// is not waited for.
func (r *Reconciler) unsubscribe(ctx context.Context, server *metalv1.Server) error {
	if r.Unsubscriber == nil || server.Spec.BMC == nil {
		return nil
	}
	key, err := r.hold(ctx, &View{Server: server}, server.Spec.BMC)
	if err != nil {
		return reconcileerror.Transient(err)
	}
	over, err := r.Unsubscriber.UnsubscribeServer(server, key)
	if err == nil && !over {
		err = reconcileerror.Waiting{On: "the BMC, where subscriptions are removed"}
	}
	return err
}

// credentialsUsed says whether a server's own credentials are used for its inline BMC.
func credentialsUsed(v *View) metav1.Condition {
	c := metav1.Condition{
		Type: metalv1.ConditionCredentialsUsed, Status: metav1.ConditionTrue, Reason: metalv1.ReasonCredentialsUsed,
		Message: "The BMC is asked with the credentials that spec.bmc names",
	}
	if v.OverriddenBy != "" {
		c.Status, c.Reason = metav1.ConditionFalse, metalv1.ReasonOtherHolder
		c.Message = v.OverriddenBy + " names the same BMC with other credentials, and Farrier uses those"
	}
	return c
}

package server

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// keyOf finds the BMC: the one that is referred to, or the one inline.
func (r *Reconciler) keyOf(ctx context.Context, v *View) (fleet.Key, error) {
	server := v.Server
	if inline := server.Spec.BMC; inline != nil {
		return r.hold(ctx, v, inline)
	}
	r.letGo(server.Name)
	if server.Spec.BMCRef == nil {
		return "", reconcileerror.Terminalf(reasonNoBMC, "The Server names no BMC: neither spec.bmcRef nor spec.bmc is set, and without one nothing is known of its machine")
	}
	var bmc metalv1.BMC
	if err := r.Get(ctx, client.ObjectKey{Name: server.Spec.BMCRef.Name}, &bmc); apierrors.IsNotFound(err) {
		return "", reconcileerror.Terminalf(reasonBMCNotFound, "spec.bmcRef: BMC %q does not exist", server.Spec.BMCRef.Name)
	} else if err != nil {
		return "", err
	}
	address, err := connection.AddressOf(ctx, r, &bmc)
	if err != nil {
		return "", err
	}
	endpoint, err := connection.Endpoint(address.IP, bmc.Spec.Protocol)
	return fleet.Key(endpoint.Key()), err
}

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

// letGo forgets that a server had an inline BMC.
func (r *Reconciler) letGo(name string) {
	r.Registry.Withdraw(&r.Wake, name)
	r.backings.Note(name, nil)
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

// unbind ends what the BMC of a server is asked for its sake.
func (r *Reconciler) unbind(name string) {
	if key, last := r.Registry.Unbind(&r.Wake, name); last {
		r.Fleet.Remove(key)
	}
}

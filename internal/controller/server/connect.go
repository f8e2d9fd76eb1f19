package server

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// contact is how a server's BMC is reached.
type contact struct {
	// key names the BMC in the fleet; empty: there is none, and err says why.
	key fleet.Key
	// overriddenBy is the object whose credentials are used in place of the server's own; empty: they are its own.
	overriddenBy string
	// counts is the object whose credentials are used for an inline BMC.
	counts connection.Candidate
	err    error
}

// connect binds a server to its BMC's actor, which it starts where the BMC is inline, and unbinds it from the one that it had
// before. A server whose BMC cannot be resolved is one of which nothing is known.
func (r *Reconciler) connect(ctx context.Context, server *metalv1.Server) (contact, error) {
	c := r.resolve(ctx, server)
	if c.err != nil || c.key == "" {
		if named := reason(c.err, ""); named == reasonBMCNotFound || named == reasonNoBMC {
			r.unbind(server.Name) // the server has no right any more to an answer
		}
		return contact{err: c.err, overriddenBy: c.overriddenBy}, reconcileerror.Transient(c.err)
	}
	if old, last := r.Registry.Bind(&r.Wake, server.Name, c.key); last {
		r.Fleet.Remove(old)
	}
	return c, nil
}

// resolve finds the BMC: the inline one, or the one that is referred to.
func (r *Reconciler) resolve(ctx context.Context, server *metalv1.Server) contact {
	if inline := server.Spec.BMC; inline != nil {
		return r.connectInline(ctx, server, inline)
	}
	r.disconnectInline(server.Name)
	key, err := r.referredKey(ctx, server)
	return contact{key: key, err: err}
}

// referredKey is the key of the BMC object that the server refers to.
func (r *Reconciler) referredKey(ctx context.Context, server *metalv1.Server) (fleet.Key, error) {
	if server.Spec.BMCRef == nil {
		return "", reconcileerror.Terminalf(reasonNoBMC, "the server names no BMC: set spec.bmcRef or spec.bmc")
	}
	var object metalv1.BMC
	if err := r.Get(ctx, client.ObjectKey{Name: server.Spec.BMCRef.Name}, &object); apierrors.IsNotFound(err) {
		return "", reconcileerror.Terminalf(reasonBMCNotFound, "spec.bmcRef: BMC %q does not exist", server.Spec.BMCRef.Name)
	} else if err != nil {
		return "", err
	}
	address, err := connection.AddressOf(ctx, r, &object)
	if err != nil {
		return "", err
	}
	endpoint, err := connection.Endpoint(address.IP, object.Spec.Protocol)
	return fleet.Key(endpoint.Key()), err
}

// connectInline starts an actor for the inline BMC of a server, with its credentials or with those of the object that has
// precedence.
func (r *Reconciler) connectInline(ctx context.Context, server *metalv1.Server, inline *metalv1.BMCAccess) contact {
	endpoint, err := connection.Endpoint(inline.Address, inline.Protocol)
	if err != nil {
		return contact{err: err}
	}
	secrets := connection.Secrets{Reader: r.APIReader, Namespace: r.Namespace}
	secret, credentials, err := secrets.Read(ctx, inline.BMCSecretRef.Name)
	r.backings.Note(server.Name, secret)
	if err != nil {
		return contact{err: err}
	}
	if err := r.mayAsk(ctx, secrets, secret, fleet.Key(endpoint.Key())); err != nil {
		return contact{err: err}
	}
	candidate := connection.Candidate{Inline: true, Name: server.Name, Created: server.CreationTimestamp.Time}
	connected := r.Registry.Connect(&r.Wake, candidate, connection.InlineSpec(server, endpoint, credentials))
	if connected.Last {
		r.Fleet.Remove(connected.Before)
	}
	return contact{key: connected.Key, counts: connected.Counts, overriddenBy: connected.Instead}
}

// rotationCheck is how often is looked whether a BMC object has connected.
const rotationCheck = 5 * time.Second

// mayAsk reports why the BMC is not to be asked with the password of a Server: a BMC object names it too and replaces the password, so the
// BMC may have another one. That object has precedence, and knows which.
func (r *Reconciler) mayAsk(ctx context.Context, secrets connection.Secrets, secret *metalv1.BMCSecret, key fleet.Key) error {
	if r.Registry.NamedByBMC(key) {
		return nil
	}
	name, err := connection.NamedBy(ctx, r, secret.Name, key)
	if err != nil || name == "" {
		return err
	}
	rotates, err := secrets.Rotates(ctx, secret)
	if err != nil || !rotates {
		return err
	}
	return reconcileerror.Paused{For: rotationCheck, Err: fmt.Errorf("BMC %q is about to replace the password", name)}
}

// disconnectInline forgets that a server had an inline BMC.
func (r *Reconciler) disconnectInline(name string) {
	r.Registry.Withdraw(&r.Wake, name)
	r.backings.Note(name, nil)
}

// unbind removes the actor of a server's BMC if no other object is bound to it.
func (r *Reconciler) unbind(name string) {
	r.Registry.Release(&r.Wake, name)
}

// unsubscribe removes what Farrier has left at the inline BMC of a server that is being deleted. One whose address or credentials
// are gone already is not waited for.
func (r *Reconciler) unsubscribe(ctx context.Context, server *metalv1.Server) error {
	if r.Unsubscriber == nil || server.Spec.BMC == nil {
		return nil
	}
	c := r.connectInline(ctx, server, server.Spec.BMC)
	if c.err != nil {
		return reconcileerror.Transient(c.err)
	}
	over, err := r.Unsubscriber.UnsubscribeServer(server, c.key)
	if err == nil && !over {
		err = reconcileerror.Waiting{On: "the BMC, which has to delete its subscriptions"}
	}
	return err
}

// forget drops everything that is kept in memory about a server that no longer exists.
func (r *Reconciler) forget(name string) {
	r.backings.Note(name, nil)
	r.census.forget(name)
	r.lookups.forget(name)
	r.begun.forget(name)
	if r.Alarms != nil {
		r.Alarms.Clear(name)
	}
	r.unbind(name)
}

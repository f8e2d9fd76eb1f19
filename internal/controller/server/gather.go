package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/bootattempt"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/ignition"
)

// gather reads everything that a decision may look at, from caches except where believing one that
// lags would switch a machine off or make something twice. It
// returns the key of the server's BMC beside the view.
func (r *Reconciler) gather(ctx context.Context, server *metalv1.Server) (*View, fleet.Key, error) {
	v := &View{Now: r.Clock.Now(), Policy: r.Policy, Server: server, NewID: r.NewID}
	key, err := r.observe(ctx, v)
	if err != nil {
		return nil, "", err
	}
	if err := r.gatherClaim(ctx, v); err != nil {
		return nil, "", err
	}
	if err := r.gatherMaintenance(ctx, v); err != nil {
		return nil, "", err
	}
	if err := r.gatherBoot(ctx, v); err != nil {
		return nil, "", err
	}
	if err := r.gatherRecords(ctx, v); err != nil {
		return nil, "", err
	}
	if err := r.gatherTwin(ctx, v, key); err != nil {
		return nil, "", err
	}
	v.Defaults, v.BootOrder = r.lastOf(key, v.step(stepDefaults)), r.lastOf(key, v.step(stepBootOrder))
	return v, key, nil
}

// observe fills in what the BMC said. A server whose BMC cannot be resolved is a
// server of which nothing is known.
func (r *Reconciler) observe(ctx context.Context, v *View) (fleet.Key, error) {
	key, err := r.keyOf(ctx, v)
	if err != nil || key == "" {
		v.Unreachable = err
		if named := reason(err, ""); named == reasonBMCNotFound || named == reasonNoBMC {
			r.unbind(v.Server.Name) // nobody has a right any more to ask it
		}
		return "", reconcileerror.Transient(err)
	}
	if old, last := r.Registry.Bind(&r.Wake, v.Server.Name, key); last {
		r.Fleet.Remove(old)
	}
	observation, ok := r.Fleet.Observe(key)
	if !ok {
		return key, nil
	}
	v.Unreachable = observation.Err
	v.Missing = observation.Sequence > 0
	at, shared := connection.SystemOf(v.Server, observation.Systems)
	switch {
	case at >= 0:
		system := &observation.Systems[at]
		v.Missing = false
		if v.Unreachable == nil {
			v.Unreachable = system.Err
		}
		if !system.Seen.IsZero() {
			v.System = system
		}
	case shared != nil && v.Unreachable == nil: // switching any of them might switch another machine
		v.Unreachable = reconcileerror.Terminalf(reasonSystemAmbiguous, "systems %s tell the same UUID %s, and spec.systemURI is that of none of them",
			strings.Join(shared, ", "), v.Server.Spec.SystemUUID)
	case v.Unreachable == nil && noBoot(v.Server, observation) != "":
		v.Unreachable = reconcileerror.Terminalf(metalv1.ReasonNoBootOverride, "system %s has no BootSourceOverrideTarget: it cannot be told what to boot", noBoot(v.Server, observation))
	}
	return key, nil
}

// noBoot is the URI of the system that a server stands for where that cannot be told what to boot; empty: it is not among those.
func noBoot(server *metalv1.Server, o fleet.Observation) string {
	switch {
	case slices.Contains(o.Others, server.Spec.SystemURI):
		return server.Spec.SystemURI
	case server.Spec.SystemURI == "" && len(o.Others) == 1 && len(o.Systems) == 0:
		return o.Others[0]
	}
	return ""
}

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

// gatherClaim reads the claim, and forgets it when it is not the one that the server was
// bound to: a claim made anew under an old name is a new claim. That a claim is gone switches a
// machine off, so it is not believed of a cache that may lag.
func (r *Reconciler) gatherClaim(ctx context.Context, v *View) error {
	ref := v.Server.Spec.ServerClaimRef
	if ref == nil {
		return nil
	}
	for _, reader := range []client.Reader{r, r.APIReader} {
		var claim metalv1.ServerClaim
		err := reader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &claim)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		owner := v.claimedBy()
		if err == nil && claim.DeletionTimestamp.IsZero() && (owner == "" || owner == string(claim.UID)) {
			v.Claim = &claim
			return nil
		}
	}
	return nil
}

func (r *Reconciler) gatherBoot(ctx context.Context, v *View) error {
	ref := bootRef(v.Server)
	if ref == nil {
		return nil
	}
	key := client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
	var config metalv1.ServerBootConfiguration
	v.BootInternal = ref.Namespace == r.Namespace && ref.Name == v.Server.Name
	err := r.Get(ctx, key, &config)
	spent := err == nil && v.claimedBy() != "" && (bootattempt.Of(&config) == nil || bootattempt.Of(&config).Clean == "")
	if v.BootInternal && (spent || apierrors.IsNotFound(err)) {
		// That means "prepare it again", which must not be believed of a cache that lags.
		err = r.APIReader.Get(ctx, key, &config)
	}
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if config.Spec.ServerRef.Name != v.Server.Name {
		return nil // another machine's, whatever it is called
	}
	v.Boot = &config
	v.Attempt = bootattempt.Of(&config)
	v.Answering = r.Boots.Answering()
	if v.Attempt.Open() {
		v.Acknowledged = r.Boots.Acknowledged(v.Attempt.ID)
		if r.Policy.BMCIdentity {
			v.BMCToken = ignition.BMCToken(r.TokenKey, string(v.Server.UID), v.Attempt.ID)
		}
	}
	var http bootv1.HTTPBootConfig
	if err := r.Get(ctx, key, &http); err == nil {
		v.HTTPBoot = &http
	} else if !apierrors.IsNotFound(err) {
		return fmt.Errorf("HTTPBootConfig %s: %w", key, err)
	}
	var pxe bootv1.IPXEBootConfig
	if err := r.Get(ctx, key, &pxe); err == nil {
		v.PXEBoot = true
	} else if !apierrors.IsNotFound(err) {
		return fmt.Errorf("IPXEBootConfig %s: %w", key, err)
	}
	return nil
}

// lastOf is how the newest order of a step stands; each repetition has the end of the one before in its ID.
func (r *Reconciler) lastOf(key fleet.Key, base string) (last fleet.CommandStatus) {
	if key == "" {
		return last
	}
	for id := base; ; id = fmt.Sprintf("%s~%d", base, last.End.Unix()) {
		status, known := r.Fleet.Command(key, id)
		if !known || status.ID == last.ID {
			return last
		}
		if last = status; !last.State.Ended() {
			return last
		}
	}
}

package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/bootattempt"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/ignition"
	"github.com/farrier-dev/farrier/internal/inspection"
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

// gatherRecords reads what the objects of record say of themselves. That a server is clean is not
// believed of a cache that may lag: its disks would be the next user's.
func (r *Reconciler) gatherRecords(ctx context.Context, v *View) error {
	reader := client.Reader(r)
	if id, _ := v.held(); id != "" {
		reader = r.APIReader // that nobody has registered is what a machine is switched off for
	}
	inspected, err := r.recordMeta(ctx, reader, machinerecord.InspectionName(v.Server.Name))
	if err != nil {
		return err
	}
	v.Inspected = inspected.Annotations[machinerecord.AnnotationAttempt]
	v.InspectedAt = inspected.CreationTimestamp.Time
	v.Told = identity.MachineUUID(inspected.Annotations[machinerecord.AnnotationSystemUUID])
	if err := r.gatherNamesake(ctx, v); err != nil {
		return err
	}
	for word := range strings.SplitSeq(inspected.Annotations[machinerecord.AnnotationCapabilities], ",") {
		if word != "" {
			v.Capabilities = append(v.Capabilities, inspection.Capability(word))
		}
	}
	owner := v.claimedBy()
	if owner == "" {
		return nil
	}
	for _, reader := range []client.Reader{r, r.APIReader} {
		cleaned, err := r.recordMeta(ctx, reader, machinerecord.CleanupName(v.Server.Name, owner))
		if err != nil {
			return err
		}
		if v.Cleaned = nil; cleaned.Name == "" {
			return nil
		}
		meta := machinerecord.CleanupMetaOf(cleaned)
		v.Cleaned = &meta
	}
	return nil
}

// recordMeta is the metadata of an object of record; it is empty where there is none.
func (r *Reconciler) recordMeta(ctx context.Context, from client.Reader, name string) (*metav1.PartialObjectMetadata, error) {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if err := from.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: name}, meta); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("object of record %s: %w", name, err)
	} else if err != nil {
		return &metav1.PartialObjectMetadata{}, nil
	}
	return meta, nil
}

// gatherNamesake finds who else has the UUID that the probe told of a server without one.
func (r *Reconciler) gatherNamesake(ctx context.Context, v *View) error {
	if identity.MachineUUID(v.Server.Spec.SystemUUID) != "" || v.Told == "" {
		return nil
	}
	var list metalv1.ServerList
	if err := r.List(ctx, &list, client.MatchingFields{index.ServerByUUID: index.UUID(v.Told)}); err != nil {
		return fmt.Errorf("servers with system UUID %s: %w", v.Told, err)
	}
	for i := range list.Items {
		if list.Items[i].Name != v.Server.Name {
			v.Namesake = list.Items[i].Name
			return nil
		}
	}
	return nil
}

// gatherTwin finds out of a server that is about to be discovered whether another one stands for the same machine and comes before it.
// Discovery switches a machine off, by force if need be, and that one may run for a claim: where a BMC is deleted, which leaves claimed
// Servers alone, and is made anew under another name, each of its systems is a Server a second time. Admission refuses that by the
// UUID, where there is one and where its webhook is installed.
func (r *Reconciler) gatherTwin(ctx context.Context, v *View, key fleet.Key) error {
	if v.System == nil || v.Inspected != "" || v.Server.Spec.ServerClaimRef != nil || v.claimedBy() != "" || v.BootInternal {
		return nil
	}
	var others metalv1.ServerList
	if uuid := v.System.UUID; uuid != "" {
		if err := r.List(ctx, &others, client.MatchingFields{index.ServerByUUID: index.UUID(uuid)}); err != nil {
			return fmt.Errorf("servers with system UUID %s: %w", uuid, err)
		}
	}
	for _, name := range r.Registry.Bound(&r.Wake, key) { // what has no UUID is known by its BMC and URI
		var other metalv1.Server
		if err := r.Get(ctx, client.ObjectKey{Name: name}, &other); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("Server %q: %w", name, err)
		} else if err == nil && connection.IsSystem(&other, v.System.System) {
			others.Items = append(others.Items, other)
		}
	}
	for i := range others.Items {
		if other := &others.Items[i]; other.Name != v.Server.Name && precedes(other, v.Server) {
			v.Twin = other.Name
		}
	}
	return nil
}

// precedes says whether a server is the one of two that goes on: one that somebody has, or had and that is not clean, then the older one.
func precedes(s, newcomer *metalv1.Server) bool {
	switch {
	case s.Spec.ServerClaimRef != nil || s.Annotations[metalv1.AnnotationClaimedBy] != "":
		return true
	case !s.CreationTimestamp.Equal(&newcomer.CreationTimestamp):
		return s.CreationTimestamp.Before(&newcomer.CreationTimestamp)
	}
	return s.Name < newcomer.Name
}

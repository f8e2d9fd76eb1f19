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

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/bootrelay"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/probeboot"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/ignition"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// gather reads everything that a decision may look at, and changes nothing. It reads caches, except where a decision on a stale
// cache would switch a machine off or make something twice.
func (r *Reconciler) gather(ctx context.Context, server *metalv1.Server, bmc contact) (*View, error) {
	v := &View{
		Now: r.Clock.Now(), Policy: r.Policy, Server: server, NewID: r.NewID, Key: bmc.key, Unreachable: bmc.err, OverriddenBy: bmc.overriddenBy, Counts: bmc.counts,
		Deferred: r.deferred.get(server.UID),
	}
	r.observe(v)
	for _, read := range []func(context.Context, *View) error{r.gatherClaim, r.gatherMaintenance, r.gatherBoot, r.gatherRecords, r.gatherDuplicate} {
		if err := read(ctx, v); err != nil {
			return nil, err
		}
	}
	v.Defaults, v.BootOrder = r.lastOf(v.Key, v.step(stepDefaults)), r.lastOf(v.Key, v.step(stepBootOrder))
	r.gatherReset(v)
	return v, nil
}

// observe fills in what the BMC last said.
func (r *Reconciler) observe(v *View) {
	if v.Key == "" {
		return
	}
	v.MetBy = r.Fleet.MetBy(v.Key)
	observation, ok := r.Fleet.Observe(v.Key)
	if !ok {
		return
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
		v.Unreachable = reconcileerror.Terminalf(reasonSystemAmbiguous, "systems %s report the same UUID %s, and spec.systemURI names none of them",
			strings.Join(shared, ", "), v.Server.Spec.SystemUUID)
	case v.Unreachable == nil && noBoot(v.Server, observation) != "":
		v.Unreachable = reconcileerror.Terminalf(metalv1.ReasonNoBootOverride, "system %s has no BootSourceOverrideTarget, so its boot source cannot be set", noBoot(v.Server, observation))
	}
}

// gatherReset reads how far the reset has come that the annotation tells of.
func (r *Reconciler) gatherReset(v *View) {
	mark := v.Server.Annotations[metalv1.AnnotationOperationStarted]
	if mark == "" {
		return
	}
	v.Reset.Begun, v.Reset.Ordered = r.resets.get(v.Server.UID) == mark, r.ordered.get(v.Server.UID) == mark
	v.Reset.Status, v.Reset.Known = r.Fleet.Command(v.Key, resetID(v.Server, mark))
}

// noBoot is the URI of the server's system if its boot source cannot be set; empty: it can, or the system is unknown.
func noBoot(server *metalv1.Server, o fleet.Observation) string {
	switch {
	case slices.Contains(o.Others, server.Spec.SystemURI):
		return server.Spec.SystemURI
	case server.Spec.SystemURI == "" && len(o.Others) == 1 && len(o.Systems) == 0:
		return o.Others[0]
	}
	return ""
}

// gatherClaim reads the claim, unless it is another one than the server was bound to: a claim made anew under an old name is a new
// claim. A missing claim switches a machine off, so the API confirms what the cache says.
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
		// That means "prepare it again", so the API confirms what the cache says.
		err = r.APIReader.Get(ctx, key, &config)
	}
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if config.Spec.ServerRef.Name != v.Server.Name {
		v.BootOfAnother = true // whatever its name
		return nil
	}
	v.Boot = &config
	v.Attempt = bootattempt.Of(&config)
	v.Answering = r.Boots.Answering()
	if v.Attempt.Open() {
		v.Acknowledged = r.Boots.Acknowledged(v.Attempt.ID) || bootrelay.Acknowledged(v.Boot, v.Attempt.ID)
		if r.Policy.BMCIdentity {
			v.BMCToken = ignition.BMCToken(r.TokenKey, string(v.Server.UID), v.Attempt.ID)
		}
	}
	return r.gatherMade(ctx, v, key)
}

// gatherMade reads the boot configs of v.Boot. Where they are derived, they are unknown for a moment after a start.
func (r *Reconciler) gatherMade(ctx context.Context, v *View, key client.ObjectKey) error {
	derived := r.Derived.Covers(v.Boot)
	if derived {
		var settled bool
		v.BootImage, settled = r.Derived.Settled(v.Boot)
		v.Deriving = !settled
		v.Boot.Status = r.Derived.Status(v.Boot)
	}
	for _, m := range bootmethod.Methods {
		if obj, made := r.Derived.Get(m.Kind, key); made && derived {
			v.Made = append(v.Made, m.Made(obj))
			continue
		}
		obj := m.New()
		if err := r.Get(ctx, key, obj); err == nil {
			v.Made = append(v.Made, m.Made(obj))
		} else if !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s %s: %w", m.Kind, key, err)
		}
	}
	return nil
}

// lastOf is the newest order of a step. The ID of each repetition holds the end of the one before.
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

// gatherRecords reads the metadata of the machine records. The API confirms that a server is clean, for a cache may be stale and the
// next user would get its disks.
func (r *Reconciler) gatherRecords(ctx context.Context, v *View) error {
	reader := client.Reader(r)
	if id, _ := v.wipeSuspended(); id != "" || probeboot.Unanswered(v.Server) {
		reader = r.APIReader // a machine is switched off because no probe has registered; an older report must not pass for a later one
	}
	inspected, err := r.recordMeta(ctx, reader, machinerecord.InspectionName(v.Server.Name))
	if err != nil {
		return err
	}
	v.Inspected = inspected.Annotations[machinerecord.AnnotationAttempt]
	v.InspectedAt = inspected.CreationTimestamp.Time
	v.ReportedUUID = identity.MachineUUID(inspected.Annotations[machinerecord.AnnotationSystemUUID])
	if err := r.gatherUUIDOwner(ctx, v); err != nil {
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

// recordMeta is the metadata of a machine record; empty where there is none.
func (r *Reconciler) recordMeta(ctx context.Context, from client.Reader, name string) (*metav1.PartialObjectMetadata, error) {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if err := from.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: name}, meta); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("machine record %s: %w", name, err)
	} else if err != nil {
		return &metav1.PartialObjectMetadata{}, nil
	}
	return meta, nil
}

// gatherUUIDOwner finds the Server that has the UUID that the probe of a server without UUID reported.
func (r *Reconciler) gatherUUIDOwner(ctx context.Context, v *View) error {
	if identity.MachineUUID(v.Server.Spec.SystemUUID) != "" || v.ReportedUUID == "" {
		return nil
	}
	var list metalv1.ServerList
	if err := r.List(ctx, &list, client.MatchingFields{index.ServerByIdentity: index.MachineUUID(v.ReportedUUID)}); err != nil {
		return fmt.Errorf("servers with system UUID %s: %w", v.ReportedUUID, err)
	}
	for i := range list.Items {
		if list.Items[i].Name != v.Server.Name {
			v.UUIDTakenBy = list.Items[i].Name
			return nil
		}
	}
	return nil
}

// gatherDuplicate finds another Server of the same machine that has precedence over this one, which is about to be discovered.
// Discovery switches a machine off, by force if need be, and the machine may run for a claim: where a BMC is deleted, which leaves
// claimed Servers alone, and made anew under another name, each of its systems becomes a second Server. Admission refuses that by the
// UUID, where there is one and where the webhook is installed.
func (r *Reconciler) gatherDuplicate(ctx context.Context, v *View) error {
	if v.System == nil || v.Inspected != "" || v.Server.Spec.ServerClaimRef != nil || v.claimedBy() != "" || v.BootInternal {
		return nil
	}
	var others metalv1.ServerList
	if uuid := v.System.UUID; uuid != "" {
		if err := r.List(ctx, &others, client.MatchingFields{index.ServerByIdentity: index.MachineUUID(uuid)}); err != nil {
			return fmt.Errorf("servers with system UUID %s: %w", uuid, err)
		}
	}
	for _, name := range r.Registry.Bound(&r.Wake, v.Key) { // a system without UUID is known by its BMC and URI
		var other metalv1.Server
		if err := r.Get(ctx, client.ObjectKey{Name: name}, &other); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("Server %q: %w", name, err)
		} else if err == nil && connection.IsSystem(&other, v.System.System) {
			others.Items = append(others.Items, other)
		}
	}
	for i := range others.Items {
		if other := &others.Items[i]; other.Name != v.Server.Name && precedes(other, v.Server) {
			v.DuplicateOf = other.Name
		}
	}
	return nil
}

// precedes reports whether a server has precedence over a newcomer: one that is claimed or dirty, then the older one.
func precedes(s, newcomer *metalv1.Server) bool {
	switch {
	case s.Spec.ServerClaimRef != nil || s.Annotations[metalv1.AnnotationClaimedBy] != "":
		return true
	case !s.CreationTimestamp.Equal(&newcomer.CreationTimestamp):
		return s.CreationTimestamp.Before(&newcomer.CreationTimestamp)
	}
	return s.Name < newcomer.Name
}

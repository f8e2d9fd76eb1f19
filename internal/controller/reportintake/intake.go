package reportintake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/controller/alarm"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// ErrUnknownMachine says that no Server has the UUID of a report, nor the attempt in which it was made.
var ErrUnknownMachine = inspection.ErrUnknownMachine

// ErrNoAttempt says that a report belongs to no boot attempt that is open.
var ErrNoAttempt = errors.New("the report belongs to no open boot attempt")

// Intake writes reports.
type Intake struct {
	client.Client
	// APIReader reads past the cache what has to be so.
	APIReader client.Reader
	// Namespace is where objects of record live.
	Namespace string
	// Alarms are where reports that do not fit their machine are told of.
	Alarms *alarm.Board
	// Clock is when a cleanup ended: the machine's own may be years off.
	Clock clock.PassiveClock
	// Speaks reports whether whoever hands over reports may speak for the machine of a Server; nil: for any.
	Speaks func(*metalv1.Server) bool
}

// Register stores a report. Doing it again for the same attempt changes nothing.
func (i *Intake) Register(ctx context.Context, r inspection.Registration) error {
	servers, err := i.servers(ctx, r.SystemUUID, r.Attempt)
	if err != nil {
		return err
	}
	for s := range servers {
		server := &servers[s]
		if ref := server.Spec.BootConfigurationRef; ref != nil && ref.Namespace == i.Namespace && ref.Name == server.Name {
			_, a, err := i.attempt(ctx, server)
			if err != nil {
				return err
			}
			switch {
			case !a.Open() || a.Started == nil: // what the BMC has not shown on cannot report
			case a.Clean != "" && r.Attempt == a.ID:
				return i.cleaning(ctx, server, a, r)
			case a.Clean == "" && (r.Attempt == a.ID || r.Attempt == ""): // none: only where reports without a token are allowed
				r.Attempt = a.ID
				return i.store(ctx, server, r)
			}
		}
		if stored, err := i.stored(ctx, server, r.Attempt); stored || err != nil {
			return err // an agent that did not hear the answer asks again
		}
	}
	return fmt.Errorf("system %s: %w", r.SystemUUID, ErrNoAttempt)
}

func (i *Intake) store(ctx context.Context, server *metalv1.Server, r inspection.Registration) error {
	content, err := inspection.Pack(r)
	if err != nil {
		return err
	}
	if len(content) > maxRecord {
		return fmt.Errorf("report of Server %q: %w: %d bytes when compressed", server.Name, inspection.ErrTooLarge, len(content))
	}
	obj := machinerecord.New(i.Namespace, machinerecord.InspectionName(server.Name), machinerecord.KindInspection, server.Name, r.Attempt, content)
	obj.Annotations[machinerecord.AnnotationCapabilities] = capabilities(r.Data.Capabilities)
	if identity.MachineUUID(r.SystemUUID) != "" {
		obj.Annotations[machinerecord.AnnotationSystemUUID] = r.SystemUUID
	}
	err = i.Create(ctx, obj, client.FieldOwner(metalv1.FieldManager))
	if apierrors.IsAlreadyExists(err) {
		err = i.Update(ctx, obj, client.FieldOwner(metalv1.FieldManager))
	}
	if err != nil {
		return fmt.Errorf("store the report of Server %q: %w", server.Name, err)
	}
	return nil
}

// stored reports whether the report of an attempt is on record.
func (i *Intake) stored(ctx context.Context, server *metalv1.Server, attemptID string) (bool, error) {
	if attemptID == "" {
		return false, nil
	}
	meta := metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	err := i.Get(ctx, client.ObjectKey{Namespace: i.Namespace, Name: machinerecord.InspectionName(server.Name)}, &meta)
	return err == nil && meta.Annotations[machinerecord.AnnotationAttempt] == attemptID, client.IgnoreNotFound(err)
}

// maxRecord bounds what is compressed: an object in etcd has no more than 1.5 MiB, and its bytes are
// written in base64.
const maxRecord = 768 << 10

// capabilities are those that mean something, for an annotation.
func capabilities(list []inspection.Capability) string {
	var known []string
	for _, c := range []inspection.Capability{inspection.CapabilityCleanMetadata, inspection.CapabilityCleanFull} {
		if slices.Contains(list, c) {
			known = append(known, string(c))
		}
	}
	return strings.Join(known, ",")
}

// BootState notes on the machine's boot configuration that it has, or has not, booted.
func (i *Intake) BootState(ctx context.Context, s inspection.BootState) error {
	servers, err := i.servers(ctx, s.SystemUUID, s.Attempt)
	if err != nil {
		return err
	}
	for n := range servers {
		config, a, err := i.attempt(ctx, &servers[n])
		if err != nil {
			return err
		}
		switch {
		case a.Open() && a.Started != nil && (s.Attempt == a.ID || s.Attempt == ""):
			return i.note(ctx, config, a, s.Booted)
		case a.Exits() && s.Attempt != "" && received(config, s.Attempt):
			return nil // a machine that did not hear the answer asks again
		}
	}
	return fmt.Errorf("system %s: %w", s.SystemUUID, ErrNoAttempt)
}

func (i *Intake) note(ctx context.Context, config *metalv1.ServerBootConfiguration, a *bootattempt.Attempt, booted bool) error {
	before := config.DeepCopy()
	received := metav1.Condition{
		Type: metalv1.ConditionBootStateReceived, Status: metav1.ConditionFalse, Reason: "NotBooted",
		Message: "The machine reported that it has not booted, boot attempt " + a.ID, ObservedGeneration: config.Generation,
	}
	if booted {
		received.Status, received.Reason, received.Message = metav1.ConditionTrue, "Booted", "The machine reported that it has booted, boot attempt "+a.ID
	}
	changed := apimeta.SetStatusCondition(&config.Status.Conditions, received)
	if !changed && config.Status.BootStateAttempt == a.ID {
		return nil
	}
	config.Status.BootStateAttempt = a.ID
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return i.Status().Patch(ctx, config, patch, client.FieldOwner(metalv1.FieldManager))
}

// received reports whether the machine has reported in that attempt that it has booted.
func received(config *metalv1.ServerBootConfiguration, attemptID string) bool {
	a := bootattempt.Of(config)
	return a != nil && a.ID == attemptID && Booted(config, a) ||
		config.Status.BootStateAttempt == attemptID && apimeta.IsStatusConditionTrue(config.Status.Conditions, metalv1.ConditionBootStateReceived)
}

// Booted reports whether the machine has reported in this attempt of a boot configuration that it has booted.
func Booted(config *metalv1.ServerBootConfiguration, a *bootattempt.Attempt) bool {
	return a.Concerns(config.Status.BootStateAttempt, apimeta.FindStatusCondition(config.Status.Conditions, metalv1.ConditionBootStateReceived))
}

// servers are those of that UUID, and those that have none and were booted in that attempt. There may be more than
// one, by mistake: the attempt tells which is meant.
func (i *Intake) servers(ctx context.Context, uuid, attemptID string) ([]metalv1.Server, error) {
	var list metalv1.ServerList
	if err := i.List(ctx, &list, client.MatchingFields{index.ServerByIdentity: index.MachineUUID(uuid)}); err != nil {
		return nil, err
	}
	nameless, err := i.nameless(ctx, attemptID)
	if err != nil {
		return nil, err
	}
	found := append(list.Items, nameless...)
	if i.Speaks != nil {
		found = slices.DeleteFunc(found, func(s metalv1.Server) bool { return !i.Speaks(&s) })
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: %w", uuid, ErrUnknownMachine)
	}
	return found, nil
}

// nameless are the Servers without UUID that were booted in an attempt. Only who holds its token knows the attempt,
// so whatever UUID such a machine tells, it is that Server's.
func (i *Intake) nameless(ctx context.Context, attemptID string) ([]metalv1.Server, error) {
	if attemptID == "" {
		return nil, nil
	}
	var configs metalv1.ServerBootConfigurationList
	if err := i.List(ctx, &configs, client.MatchingFields{index.BootConfigByAttempt: attemptID}); err != nil {
		return nil, err
	}
	var found []metalv1.Server
	for c := range configs.Items {
		var server metalv1.Server
		err := i.Get(ctx, client.ObjectKey{Name: configs.Items[c].Spec.ServerRef.Name}, &server)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return nil, err
		case err == nil && identity.MachineUUID(server.Spec.SystemUUID) == "":
			found = append(found, server)
		}
	}
	return found, nil
}

// attempt is the attempt of the boot configuration that a server refers to; nil: there is none.
func (i *Intake) attempt(ctx context.Context, server *metalv1.Server) (*metalv1.ServerBootConfiguration, *bootattempt.Attempt, error) {
	ref := server.Spec.BootConfigurationRef
	if ref == nil {
		return nil, nil, nil
	}
	var config metalv1.ServerBootConfiguration
	if err := i.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &config); err != nil {
		return nil, nil, client.IgnoreNotFound(err)
	}
	return &config, bootattempt.Of(&config), nil
}

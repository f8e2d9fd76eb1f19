package report

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/attempt"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/record"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// ErrUnknownMachine says that no Server has the UUID of a report.
var ErrUnknownMachine = errors.New("no Server has this system UUID")

// ErrNoAttempt says that a report belongs to no boot attempt that is open.
var ErrNoAttempt = errors.New("the report belongs to no open boot attempt")

// Intake writes reports.
type Intake struct {
	client.Client
	// Namespace is where objects of record live.
	Namespace string
}

// Register stores a report. Doing it again for the same attempt changes nothing.
func (i *Intake) Register(ctx context.Context, r inspection.Registration) error {
	server, err := i.server(ctx, r.SystemUUID)
	if err != nil {
		return err
	}
	current, err := i.attempt(ctx, server)
	if err != nil {
		return err
	}
	if r.Attempt == "" { // only where reports without a token are allowed
		r.Attempt = current
	}
	if current == "" || r.Attempt != current {
		return fmt.Errorf("Server %q: %w", server.Name, ErrNoAttempt)
	}
	content, err := inspection.Pack(r)
	if err != nil {
		return err
	}
	obj := record.New(i.Namespace, record.InspectionName(server.Name), record.KindInspection, server.Name, r.Attempt, content)
	err = i.Create(ctx, obj, client.FieldOwner(metalv1.FieldManager))
	if apierrors.IsAlreadyExists(err) {
		err = i.Update(ctx, obj, client.FieldOwner(metalv1.FieldManager))
	}
	if err != nil {
		return fmt.Errorf("store the report of Server %q: %w", server.Name, err)
	}
	return nil
}

// BootState notes on the machine's boot configuration that it has, or has not, booted.
func (i *Intake) BootState(ctx context.Context, s inspection.BootState) error {
	server, err := i.server(ctx, s.SystemUUID)
	if err != nil {
		return err
	}
	ref := server.Spec.BootConfigurationRef
	if ref == nil {
		return fmt.Errorf("Server %q: %w", server.Name, ErrNoAttempt)
	}
	var config metalv1.ServerBootConfiguration
	if err := i.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &config); err != nil {
		return err
	}
	a := attempt.Of(&config)
	if !a.Open() || (s.Attempt != "" && s.Attempt != a.ID) {
		return fmt.Errorf("Server %q: %w", server.Name, ErrNoAttempt)
	}
	before := config.DeepCopy()
	received := metav1.Condition{
		Type: metalv1.ConditionBootStateReceived, Status: metav1.ConditionFalse, Reason: "NotBooted",
		Message: OfAttempt(a.ID), ObservedGeneration: config.Generation,
	}
	if s.Booted {
		received.Status, received.Reason = metav1.ConditionTrue, "Booted"
	}
	if !apimeta.SetStatusCondition(&config.Status.Conditions, received) {
		return nil
	}
	return i.Status().Patch(ctx, &config, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(metalv1.FieldManager))
}

// OfAttempt is the message of the condition BootStateReceived that is about an attempt.
func OfAttempt(id string) string { return "Boot attempt " + id }

func (i *Intake) server(ctx context.Context, uuid string) (*metalv1.Server, error) {
	var list metalv1.ServerList
	if err := i.List(ctx, &list, client.MatchingFields{index.ServerByUUID: index.UUID(uuid)}); err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("%s: %w", uuid, ErrUnknownMachine)
	}
	return &list.Items[0], nil
}

// attempt is the ID of the open attempt of the server's discovery; empty: there is none.
func (i *Intake) attempt(ctx context.Context, server *metalv1.Server) (string, error) {
	ref := server.Spec.BootConfigurationRef
	if ref == nil || ref.Namespace != i.Namespace || ref.Name != server.Name {
		return "", nil
	}
	var config metalv1.ServerBootConfiguration
	if err := i.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &config); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	if a := attempt.Of(&config); a.Open() {
		return a.ID, nil
	}
	return "", nil
}

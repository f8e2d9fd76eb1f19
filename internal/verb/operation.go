package verb

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/overview"
	"github.com/farrier-dev/farrier/internal/printable"
)

// Reasons of events that tell how an operation has ended.
const (
	reasonOperationFailed = "OperationFailed"
	reasonOperationDone   = "OperationDone"
)

// operate asks for an operation of a server, and waits until it was carried out.
func operate(ctx context.Context, t Target, operation string) (Order, error) {
	f, err := t.facts(ctx)
	if err != nil {
		return Order{}, err
	}
	if f.Server == nil {
		return Order{}, fmt.Errorf("operation %s: claim %s/%s has no server that this user may see", operation, t.Namespace, t.Claim)
	}
	if other, asked := metalv1.OperationOf(f.Server); asked && other != operation {
		return Order{}, fmt.Errorf("operation %s: %s has operation %s to carry out first", operation, f.Server.Name, other)
	}
	var before outcomes
	late := 0
	said := "operation " + operation + " is done"
	fields := merge{"metadata": merge{"annotations": merge{metalv1.AnnotationOperation: operation}}}
	return Order{
		Kubectl: []string{fmt.Sprintf("kubectl annotate server %s %s=%s", f.Server.Name, metalv1.AnnotationOperation, operation)},
		Write: func(ctx context.Context) error {
			now, err := t.facts(ctx)
			if err != nil {
				return err
			}
			before, _ = outcomesOf(ctx, t.API, f.Server)
			return patch(ctx, t.API, now.Server, fields)
		},
		Look: func(ctx context.Context) (bool, string, error) {
			f, err := t.facts(ctx)
			if err != nil {
				return false, "", err
			}
			if _, asked := metalv1.OperationOf(f.Server); asked || f.Server.Annotations[metalv1.AnnotationOperationStarted] != "" {
				return false, doing(f), nil
			}
			now, shown := outcomesOf(ctx, t.API, f.Server)
			outcome := now.since(before)
			if late++; outcome == nil {
				return !shown || late > looksForOutcome, doing(f), nil
			}
			said = printable.Line(outcome.Message)
			if outcome.Reason != reasonOperationDone {
				return false, "", fmt.Errorf("%s: %s", outcome.Reason, said)
			}
			return true, "", nil
		},
		Done: func() string { return said },
	}, nil
}

// looksForOutcome is how often an event is looked for that tells how an operation has ended. Events come a moment later, and some never: they have
// a budget.
const looksForOutcome = 3

// outcomes are the events that tell how operations of a server have ended, by their UID.
type outcomes map[types.UID]*corev1.Event

// outcomesOf are the outcomes that stand. shown is false if this user may not see them.
func outcomesOf(ctx context.Context, api client.Client, server *metalv1.Server) (all outcomes, shown bool) {
	var events corev1.EventList
	if err := api.List(ctx, &events, client.InNamespace(metav1.NamespaceDefault)); err != nil {
		return nil, false
	}
	all = outcomes{}
	for i := range events.Items {
		e := &events.Items[i]
		ends := e.Reason == reasonOperationDone || e.Reason == reasonOperationFailed || e.Reason == metalv1.ReasonOperationOutcomeUnknown || e.Reason == metalv1.ReasonParkedOperationDropped
		if ends && e.InvolvedObject.UID == server.UID {
			all[e.UID] = e
		}
	}
	return all, true
}

// since is the outcome that did not stand before, or was written again since; nil: there is none. Times would not tell: two operations end within a second.
func (o outcomes) since(before outcomes) *corev1.Event {
	for uid, e := range o {
		if old := before[uid]; old == nil || old.ResourceVersion != e.ResourceVersion {
			return e
		}
	}
	return nil
}

// Park has Farrier shut a machine down once and leave it alone.
func Park(ctx context.Context, t Target) ([]Order, error) {
	return t.untilState(ctx, metalv1.OperationPark, "is parked", func(f overview.Facts) bool {
		return f.Server.Status.State == metalv1.ServerStateParked && f.Server.Status.PowerState == metalv1.PowerStateOff
	})
}

// Unpark returns a server to the state where it belongs.
func Unpark(ctx context.Context, t Target) ([]Order, error) {
	return t.untilState(ctx, metalv1.OperationUnpark, "is no longer parked", func(f overview.Facts) bool {
		_, parked := f.Server.Annotations[metalv1.AnnotationParked]
		return !parked && f.Server.Status.State != metalv1.ServerStateParked
	})
}

// untilState asks for an operation that ends in a state.
func (t Target) untilState(ctx context.Context, operation, done string, there func(overview.Facts) bool) ([]Order, error) {
	o, err := operate(ctx, t, operation)
	if err != nil {
		return nil, err
	}
	o.Look = func(ctx context.Context) (bool, string, error) {
		f, err := t.facts(ctx)
		if err != nil {
			return false, "", err
		}
		return there(f), doing(f), nil
	}
	o.Done = func() string { return t.Server + " " + done }
	return []Order{o}, nil
}

// Cordon keeps claims away from a server, or lets them come again.
func Cordon(ctx context.Context, t Target, away bool) ([]Order, error) {
	f, err := t.facts(ctx)
	if err != nil {
		return nil, err
	}
	fields := merge{"spec": merge{"unclaimable": away}}
	done := t.Server + " can be claimed again"
	if away {
		done = t.Server + " gets no claim any more"
		if f.Claim != nil {
			done += "; claim " + f.Claim.Namespace + "/" + f.Claim.Name + " keeps it"
		}
	}
	return []Order{{
		Kubectl: []string{kubectlPatch("server", f.Server, fields)},
		Write:   func(ctx context.Context) error { return patch(ctx, t.API, f.Server, fields) },
		Done:    func() string { return done },
	}}, nil
}

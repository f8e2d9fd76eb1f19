package throttle

import (
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

// Verbs as they are part of a stage.
const (
	verbCreate = "create"
	verbWrite  = "write"
	verbDelete = "delete"
)

// Manager returns m with a throttled client, so every controller that is made with it is throttled.
func (t *Throttle) Manager(m manager.Manager, staged map[string]Staged) manager.Manager {
	return &throttled{Manager: m, client: t.Client(m.GetClient(), staged)}
}

type throttled struct {
	manager.Manager
	client client.Client
}

func (t *throttled) GetClient() client.Client { return t.client }

// Client returns c with counted writes. staged adds, by kind, to what identifies the stage of an object.
func (t *Throttle) Client(c client.Client, staged map[string]Staged) client.Client {
	return &writer{Client: c, guard: guard{throttle: t, kindOf: c.GroupVersionKindFor, staged: staged}}
}

// guard checks each write.
type guard struct {
	throttle *Throttle
	kindOf   func(obj runtime.Object) (schema.GroupVersionKind, error)
	staged   map[string]Staged
}

func (g guard) subject(obj client.Object) (subject, bool) {
	kind, err := g.kindOf(obj)
	return subject{kind, client.ObjectKeyFromObject(obj)}, err == nil && obj.GetName() != ""
}

// ask returns an error if the write has to wait.
func (g guard) ask(obj client.Object, verb string) error {
	s, known := g.subject(obj)
	if !known {
		return nil // it has no name yet, or will fail for what it is
	}
	wait := g.throttle.write(s, func() uint64 { return stageOf(obj, verb, g.staged[s.Kind]) })
	if wait <= 0 {
		return nil
	}
	return reconcileerror.Paused{For: wait, Err: fmt.Errorf("%s %s was written %d times without progress: the next write is in %s", s.Kind, s, Burst, wait.Round(time.Second))}
}

type writer struct {
	client.Client
	guard guard
}

// Get notes an object with the condition Stalled that this process did not set: an earlier process did.
func (w *writer) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := w.Client.Get(ctx, key, obj, opts...)
	if err != nil {
		return err
	}
	if conditions := conditionsOf(obj); conditions != nil && apimeta.IsStatusConditionTrue(*conditions, metalv1.ConditionStalled) {
		if s, known := w.guard.subject(obj); known {
			w.guard.throttle.adopt(s)
		}
	}
	return nil
}

func (w *writer) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if err := w.guard.ask(obj, verbCreate); err != nil {
		return err
	}
	return w.Client.Create(ctx, obj, opts...)
}

func (w *writer) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if err := w.guard.ask(obj, verbDelete); err != nil {
		return err
	}
	return w.Client.Delete(ctx, obj, opts...)
}

func (w *writer) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	if err := w.guard.ask(obj, verbWrite); err != nil {
		return err
	}
	return w.Client.Update(ctx, obj, opts...)
}

func (w *writer) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if err := w.guard.ask(obj, verbWrite); err != nil {
		return err
	}
	return w.Client.Patch(ctx, obj, patch, opts...)
}

// Status writes status.
func (w *writer) Status() client.SubResourceWriter {
	return &status{SubResourceWriter: w.Client.Status(), guard: w.guard}
}

// SubResource writes a subresource.
func (w *writer) SubResource(name string) client.SubResourceClient {
	return &subResource{SubResourceClient: w.Client.SubResource(name), guard: w.guard}
}

type subResource struct {
	client.SubResourceClient
	guard guard
}

func (s *subResource) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	if err := s.guard.ask(obj, verbWrite); err != nil {
		return err
	}
	return s.SubResourceClient.Update(ctx, obj, opts...)
}

func (s *subResource) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	if err := s.guard.ask(obj, verbWrite); err != nil {
		return err
	}
	return s.SubResourceClient.Patch(ctx, obj, patch, opts...)
}

type status struct {
	client.SubResourceWriter
	guard guard
}

func (s *status) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	if err := s.guard.ask(obj, verbWrite); err != nil {
		return err
	}
	return s.SubResourceWriter.Update(ctx, obj, opts...)
}

func (s *status) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	if err := s.guard.ask(obj, verbWrite); err != nil {
		return err
	}
	return s.SubResourceWriter.Patch(ctx, obj, patch, opts...)
}

package leadership

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Client returns c with writes that are refused outside of a term.
func (l *Leadership) Client(c client.Client) client.Client {
	return &writer{Client: c, during: l.write}
}

// Manager returns m with the client that Client makes of its own.
func (l *Leadership) Manager(m manager.Manager) manager.Manager {
	return &withClient{Manager: m, client: l.Client(m.GetClient())}
}

type withClient struct {
	manager.Manager
	client client.Client
}

func (m *withClient) GetClient() client.Client { return m.client }

// during carries out a write during a term.
type during func(ctx context.Context, do func(context.Context) error) error

type writer struct {
	client.Client
	during during
}

func (w *writer) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	return w.during(ctx, func(ctx context.Context) error { return w.Client.Create(ctx, obj, opts...) })
}

func (w *writer) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return w.during(ctx, func(ctx context.Context) error { return w.Client.Update(ctx, obj, opts...) })
}

func (w *writer) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return w.during(ctx, func(ctx context.Context) error { return w.Client.Patch(ctx, obj, patch, opts...) })
}

func (w *writer) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return w.during(ctx, func(ctx context.Context) error { return w.Client.Apply(ctx, obj, opts...) })
}

func (w *writer) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return w.during(ctx, func(ctx context.Context) error { return w.Client.Delete(ctx, obj, opts...) })
}

func (w *writer) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	return w.during(ctx, func(ctx context.Context) error { return w.Client.DeleteAllOf(ctx, obj, opts...) })
}

func (w *writer) Status() client.SubResourceWriter {
	return &status{SubResourceWriter: w.Client.Status(), during: w.during}
}

func (w *writer) SubResource(name string) client.SubResourceClient {
	c := w.Client.SubResource(name)
	return &subResource{SubResourceReader: c, status: status{SubResourceWriter: c, during: w.during}}
}

// status writes status, or another subresource.
type status struct {
	client.SubResourceWriter
	during during
}

func (s *status) Create(ctx context.Context, obj, sub client.Object, opts ...client.SubResourceCreateOption) error {
	return s.during(ctx, func(ctx context.Context) error { return s.SubResourceWriter.Create(ctx, obj, sub, opts...) })
}

func (s *status) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	return s.during(ctx, func(ctx context.Context) error { return s.SubResourceWriter.Update(ctx, obj, opts...) })
}

func (s *status) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	return s.during(ctx, func(ctx context.Context) error { return s.SubResourceWriter.Patch(ctx, obj, patch, opts...) })
}

func (s *status) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	return s.during(ctx, func(ctx context.Context) error { return s.SubResourceWriter.Apply(ctx, obj, opts...) })
}

type subResource struct {
	client.SubResourceReader
	status
}

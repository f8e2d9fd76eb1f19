package admissiontest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// requestTimeout is generous: tests share two slow cores.
const requestTimeout = time.Minute

// API is a Shell of a running API server.
type API struct {
	config *rest.Config
	client client.Client
}

// NewAPI connects to an API server. It makes the manager's namespace.
func NewAPI(t *testing.T, config *rest.Config) *API {
	t.Helper()
	api := &API{config: rest.CopyConfig(config)}
	api.client, _ = api.connect(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ManagerNamespace}}
	if err := api.client.Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return api
}

// Client reads and writes, with rules.
func (a *API) Client() client.Client { return a.client }

// connect makes a client whose warnings are collected.
func (a *API) connect(t *testing.T) (client.Client, *warnings) {
	t.Helper()
	heard := &warnings{}
	config := rest.CopyConfig(a.config)
	config.WarningHandlerWithContext = heard
	config.QPS = -1
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c, heard
}

// Namespace implements Shell.
func (a *API) Namespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := a.client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

// Give implements Shell.
func (a *API) Give(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	status, has := object.Object["status"] // a subresource, which is not stored with the rest
	if err := a.client.Create(t.Context(), object); err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	if !has {
		return
	}
	object.Object["status"] = status
	if err := a.client.Status().Update(t.Context(), object); err != nil {
		t.Fatalf("status of %s %s: %v", object.GetKind(), object.GetName(), err)
	}
}

// Request implements Shell.
func (a *API) Request(t *testing.T, object, old *unstructured.Unstructured) Outcome {
	t.Helper()
	return a.Do(t, func(ctx context.Context, c client.Client) error {
		if old == nil {
			return c.Create(ctx, object)
		}
		object.SetResourceVersion(old.GetResourceVersion())
		return c.Update(ctx, object)
	}, object)
}

// Delete implements Shell.
func (a *API) Delete(t *testing.T, object *unstructured.Unstructured) Outcome {
	t.Helper()
	return a.Do(t, func(ctx context.Context, c client.Client) error { return c.Delete(ctx, object) }, object)
}

// Do carries a request out and tells what it led to.
func (a *API) Do(t *testing.T, request func(context.Context, client.Client) error, object *unstructured.Unstructured) Outcome {
	t.Helper()
	c, heard := a.connect(t)
	ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
	defer cancel()
	err := request(ctx, c)
	outcome := Outcome{Warnings: heard.all(), Object: object}
	if err == nil {
		return outcome
	}
	var status *apierrors.StatusError
	if !errors.As(err, &status) || status.ErrStatus.Details == nil || !apierrors.IsInvalid(err) {
		t.Fatalf("want it admitted, or found invalid, got %v", err)
	}
	for _, cause := range status.ErrStatus.Details.Causes {
		outcome.Causes = append(outcome.Causes, cause.Field+": "+cause.Message)
	}
	return outcome
}

// warnings are those of one client.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, code int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if code == 299 { // RFC 7234 §5.5.7, the only one that Kubernetes sends
		w.texts = append(w.texts, text)
	}
}

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.texts
}

package plugin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiserver "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"github.com/farrier-dev/farrier/internal/admission"
)

// Name is what the API server calls the plugin.
const Name = "Farrier"

const (
	// patience is how long a request is held up for rules that are not there yet. A start takes a second or two.
	patience = 5 * time.Second
	// again is how many seconds later a request that was not judged is asked to come again (RFC 9110 §10.2.3); client-go does so by itself.
	again = 1
)

// Plugin is an admission plugin of k8s.io/apiserver.
type Plugin struct {
	*apiserver.Handler
	once  sync.Once
	ready chan struct{}
	rules *admission.Rules // valid once ready is closed
}

var (
	_ apiserver.MutationInterface   = &Plugin{}
	_ apiserver.ValidationInterface = &Plugin{}
)

// New makes a plugin that has no rules yet.
func New() *Plugin {
	return &Plugin{Handler: apiserver.NewHandler(apiserver.Create, apiserver.Update, apiserver.Delete), ready: make(chan struct{})}
}

// Factory is what an API server is configured with.
func (p *Plugin) Factory(io.Reader) (apiserver.Interface, error) { return p, nil }

// Serve gives the plugin its rules, once. What they read from has to be filled.
func (p *Plugin) Serve(rules *admission.Rules) {
	p.once.Do(func() {
		p.rules = rules
		close(p.ready)
	})
}

// Admit repairs an object.
func (p *Plugin) Admit(ctx context.Context, attributes apiserver.Attributes, _ apiserver.ObjectInterfaces) error {
	if attributes.GetSubresource() != "" || !admission.Mutates(attributes.GetKind().GroupKind()) {
		return nil
	}
	object, ok := attributes.GetObject().(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	result := admission.Mutate(request(attributes, object), time.Now())
	if result.Object != nil {
		object.Object = result.Object.Object
	}
	warn(ctx, result.Warnings)
	return nil
}

// Validate refuses what the rules refuse.
func (p *Plugin) Validate(ctx context.Context, attributes apiserver.Attributes, _ apiserver.ObjectInterfaces) error {
	gk := attributes.GetKind().GroupKind()
	if attributes.GetOperation() == apiserver.Delete {
		p.deleted(ctx, attributes)
		return nil
	}
	if attributes.GetSubresource() != "" || !admission.Validates(gk) {
		return nil
	}
	object, ok := attributes.GetObject().(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	if !p.wait(ctx) {
		return notJudged("the rules are not ready")
	}
	verdict, err := p.rules.Validate(ctx, request(attributes, object))
	if err != nil {
		return notJudged(err.Error())
	}
	warn(ctx, verdict.Warnings)
	if !verdict.Allowed() {
		return apierrors.NewInvalid(gk, attributes.GetName(), verdict.Errors)
	}
	return nil
}

// deleted says what a deletion leads to. Nobody waits for it: without rules it is not said.
func (p *Plugin) deleted(ctx context.Context, attributes apiserver.Attributes) {
	old, ok := attributes.GetOldObject().(*unstructured.Unstructured)
	if !ok || attributes.GetSubresource() != "" || !admission.Warns(attributes.GetKind().GroupKind()) {
		return
	}
	select {
	case <-p.ready:
	default:
		return
	}
	verdict, err := p.rules.Validate(ctx, admission.Request{
		Kind: attributes.GetKind().GroupKind(), Namespace: old.GetNamespace(), Name: old.GetName(), Old: old, DryRun: attributes.IsDryRun(),
	})
	if err == nil {
		warn(ctx, verdict.Warnings)
	}
}

func (p *Plugin) wait(ctx context.Context) bool {
	select {
	case <-p.ready:
		return true
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.ready:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

func request(attributes apiserver.Attributes, object *unstructured.Unstructured) admission.Request {
	r := admission.Request{
		Kind: attributes.GetKind().GroupKind(), Namespace: attributes.GetNamespace(), Name: attributes.GetName(),
		Object: object, DryRun: attributes.IsDryRun(),
	}
	if r.Name == "" {
		r.Name = object.GetName()
	}
	if old, ok := attributes.GetOldObject().(*unstructured.Unstructured); ok && attributes.GetOperation() == apiserver.Update {
		r.Old = old
	}
	return r
}

func warn(ctx context.Context, warnings []string) {
	for _, text := range warnings {
		warning.AddWarning(ctx, "", text)
	}
}

// notJudged asks the client to come again: whether the object is right is not known.
func notJudged(why string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable,
		Message: fmt.Sprintf("admission by %s: %s", Name, why),
		Details: &metav1.StatusDetails{RetryAfterSeconds: again},
	}}
}

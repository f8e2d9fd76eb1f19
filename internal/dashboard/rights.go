package dashboard

import (
	"context"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

const (
	// rightsFor is how long an answer about a right counts. Whoever loses a right sees what it showed no longer than that.
	rightsFor = 5 * time.Second
	// maxRights is how many answers a session remembers.
	maxRights = 500
	// reviewTimeout bounds one question about a right.
	reviewTimeout = 10 * time.Second
)

// action is something that needs a right.
type action struct {
	verb, group, resource, subresource, namespace, name string

	path string // of what is no resource
}

// answer is what the API has said about an action.
type answer struct {
	allowed bool
	until   time.Time
}

// reviewed are the answers that a session remembers.
type reviewed struct {
	mu      sync.Mutex
	answers map[action]answer
}

func (r *reviewed) get(a action, now time.Time) (allowed, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.answers[a]
	return found.allowed, ok && now.Before(found.until)
}

func (r *reviewed) put(a action, allowed bool, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answers == nil || len(r.answers) >= maxRights {
		r.answers = map[action]answer{}
	}
	r.answers[a] = answer{allowed, until}
}

// forget has everything asked again.
func (r *reviewed) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = nil
}

// may asks the Kubernetes API whether somebody may do something.
func (d *Dashboard) may(ctx context.Context, s *session, a action) (bool, error) {
	now := d.Clock.Now()
	if allowed, known := s.rights.get(a, now); known {
		return allowed, nil
	}
	review := &authorizationv1.SubjectAccessReview{Spec: specOf(s.user, a)}
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	if err := d.API.Create(ctx, review); err != nil {
		return false, &silent{fmt.Errorf("SubjectAccessReview: %w", err)}
	}
	s.rights.put(a, review.Status.Allowed, now.Add(rightsFor))
	return review.Status.Allowed, nil
}

// specOf is the question about an action.
func specOf(user authenticationv1.UserInfo, a action) authorizationv1.SubjectAccessReviewSpec {
	spec := authorizationv1.SubjectAccessReviewSpec{User: user.Username, UID: user.UID, Groups: user.Groups, Extra: map[string]authorizationv1.ExtraValue{}}
	for key, values := range user.Extra {
		spec.Extra[key] = authorizationv1.ExtraValue(values)
	}
	if a.path != "" {
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: a.path, Verb: a.verb}
		return spec
	}
	spec.ResourceAttributes = &authorizationv1.ResourceAttributes{Verb: a.verb, Group: a.group, Resource: a.resource, Subresource: a.subresource, Namespace: a.namespace, Name: a.name}
	return spec
}

// silent says that the Kubernetes API does not answer.
type silent struct{ error }

func (s *silent) Unwrap() error { return s.error }

// missing says which right somebody lacks, in the words of the Kubernetes API.
func missing(s *session, a action) error {
	if a.path != "" {
		return apierrors.NewForbidden(schema.GroupResource{}, "", fmt.Errorf("User %q cannot %s path %q", s.user.Username, a.verb, a.path))
	}
	where := "at the cluster scope"
	if a.namespace != "" {
		where = fmt.Sprintf("in the namespace %q", a.namespace)
	}
	named := a.resource
	if a.subresource != "" {
		named += "/" + a.subresource
	}
	resource := schema.GroupResource{Group: a.group, Resource: named}
	return apierrors.NewForbidden(resource, a.name, fmt.Errorf("User %q cannot %s resource %q in API group %q %s", s.user.Username, a.verb, named, a.group, where))
}

// mayRead returns an error unless somebody may read a path of the operator address.
func (d *Dashboard) mayRead(ctx context.Context, s *session, path string) error {
	return d.require(ctx, s, action{verb: "get", path: path})
}

// require returns an error that names the right which somebody lacks for an action, or that nobody knows it.
func (d *Dashboard) require(ctx context.Context, s *session, a action) error {
	allowed, err := d.may(ctx, s, a)
	if err == nil && !allowed {
		err = missing(s, a)
	}
	return err
}

// reader reads objects with the rights of somebody. What pages list by the thousand comes from the cache, which is read without copying: pages
// change nothing of what they read.
type reader struct {
	dashboard *Dashboard
	session   *session
}

// cached reports whether the cache holds objects of a kind.
func cached(kind schema.GroupVersionKind) bool {
	return kind.Group == metalv1.GroupVersion.Group && kind.Kind != "BMCSecret" && kind.Kind != "BMCSecretList" || kind.Group == bootv1.GroupVersion.Group ||
		kind.Group == farrierv1.GroupVersion.Group
}

// refuseSecrets shows nothing of a Secret, whatever somebody may do.
func refuseSecrets(kind schema.GroupVersionKind, resource schema.GroupResource) error {
	switch kind.Kind {
	case "Secret", "SecretList", "BMCSecret", "BMCSecretList":
		return apierrors.NewForbidden(resource, "", fmt.Errorf("the dashboard shows no Secret to anybody"))
	}
	return nil
}

// source finds out where objects of a kind are read, and how the API calls them.
func (r *reader) source(obj client.ObjectList) (client.Reader, schema.GroupResource, bool, error) {
	kind, err := apiutil.GVKForObject(obj, r.dashboard.API.Scheme())
	if err != nil {
		return nil, schema.GroupResource{}, false, err
	}
	return r.of(kind)
}

func (r *reader) of(kind schema.GroupVersionKind) (from client.Reader, resource schema.GroupResource, namespaced bool, err error) {
	single := kind
	if n := len(kind.Kind) - len("List"); n > 0 && kind.Kind[n:] == "List" {
		single.Kind = kind.Kind[:n]
	}
	mapping, err := r.dashboard.API.RESTMapper().RESTMapping(single.GroupKind(), single.Version)
	if err != nil {
		return nil, resource, false, err
	}
	resource = mapping.Resource.GroupResource()
	from = r.dashboard.Live
	if cached(kind) {
		from = r.dashboard.API
	}
	return from, resource, mapping.Scope.Name() == apimeta.RESTScopeNameNamespace, refuseSecrets(kind, resource)
}

// Get implements client.Reader.
func (r *reader) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	kind, err := apiutil.GVKForObject(into, r.dashboard.API.Scheme())
	if err != nil {
		return err
	}
	from, resource, _, err := r.of(kind)
	if err != nil {
		return err
	}
	// Whoever may read all is asked about once, not once an object.
	all := action{verb: "get", group: resource.Group, resource: resource.Resource, namespace: key.Namespace}
	one := all
	one.name = key.Name
	allowed, err := r.dashboard.may(ctx, r.session, all)
	if err == nil && !allowed {
		err = r.dashboard.require(ctx, r.session, one)
	}
	if err != nil {
		return err
	}
	return from.Get(ctx, key, into, opts...)
}

// List implements client.Reader.
func (r *reader) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	from, resource, namespaced, err := r.source(into)
	if err != nil {
		return err
	}
	asked := (&client.ListOptions{}).ApplyOptions(opts)
	a := action{verb: "list", group: resource.Group, resource: resource.Resource}
	if namespaced {
		a.namespace = asked.Namespace
	}
	if err := r.dashboard.require(ctx, r.session, a); err != nil {
		return err
	}
	if from == client.Reader(r.dashboard.API) {
		opts = append(opts, client.UnsafeDisableDeepCopy)
	} else if _, events := into.(*corev1.EventList); !events {
		opts = append(opts, client.Limit(mostLive))
	}
	return from.List(ctx, into, opts...)
}

// mostLive is how many objects that are in no cache are read for a page.
const mostLive = 500

package ipxeapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/ipxeapi/content"
	"github.com/farrier-dev/farrier/internal/ipxeapi/spelling"
)

// Webhooks asks servers in the background; content.Resolver does.
type Webhooks interface {
	Lookup(content.Request) (content.Result, bool)
	Forget(content.Request)
	Subscribe(func(content.Request))
}

var errNotAsked = errors.New("the webhook has not answered yet")

// webhook looks up what a server answers.
func (r *Profiles) webhook(g *gathered, name string) (data []byte, problem error) {
	if problem := g.refused[name]; problem != nil {
		return nil, problem
	}
	result, asked := r.Webhooks.Lookup(g.asks[name])
	switch {
	case !asked:
		return nil, errNotAsked
	case result.Found && result.Err != nil:
		g.stale = append(g.stale, fmt.Sprintf("%s: its last good answer is served; webhook: %s", name, result.Err))
	case !result.Found:
		return nil, fmt.Errorf("webhook: %w", result.Err)
	}
	return result.Bytes, nil
}

// request reads the Secrets that a webhook is asked with.
func (r *Profiles) request(ctx context.Context, g *gathered, namespace string, w *ipxev1.Webhook) (request content.Request, problem, err error) {
	request.URL = w.URL
	mtls, unsaid := spelling.MTLS(w)
	if unsaid != nil {
		return request, unsaid, nil
	}
	if mtls != nil {
		data, problem, err := r.secretKeys(ctx, g, namespace, mtls, mtls.Certificate, mtls.PrivateKey, mtls.Authority)
		if problem != nil || err != nil {
			return request, problem, err
		}
		request.Certificate, request.Key, request.CA = data[mtls.Certificate], data[mtls.PrivateKey], data[mtls.Authority]
	}
	login, unsaid := spelling.BasicAuth(w)
	if unsaid != nil {
		return request, unsaid, nil
	}
	if login != nil {
		data, problem, err := r.secretKeys(ctx, g, namespace, login, login.Username, login.Password)
		if problem != nil || err != nil {
			return request, problem, err
		}
		request.Username, request.Password = string(data[login.Username]), data[login.Password]
	}
	return request, nil, nil
}

// secretKeys reads keys of a Secret for a profile of that namespace. A key without a name is none.
func (r *Profiles) secretKeys(ctx context.Context, g *gathered, namespace string, from *spelling.Secret, keys ...string) (data map[string][]byte, problem, err error) {
	secret := &corev1.Secret{}
	ref := reference{kindSecret, types.NamespacedName{Namespace: cmp.Or(from.Namespace, namespace), Name: from.Name}}
	if problem, err := r.read(ctx, g, ref, namespace, secret); problem != nil || err != nil {
		return nil, problem, err
	}
	if secret.Type == corev1.SecretTypeServiceAccountToken || client.ObjectKeyFromObject(secret) == r.KeysSecret {
		return nil, fmt.Errorf("Secret %q is not for webhooks", from.Name), nil
	}
	for _, key := range keys {
		if key != "" && len(secret.Data[key]) == 0 {
			return nil, fmt.Errorf("Secret %q has no key %q", from.Name, key), nil
		}
	}
	return secret.Data, nil, nil
}

// inquiries remembers which profiles wait for which webhooks, so that an answer wakes
// those, and what nobody needs is asked no more.
type inquiries struct {
	mu       sync.Mutex
	users    dependents[[sha256.Size]byte]
	requests map[[sha256.Size]byte]content.Request
}

func (i *inquiries) set(name types.NamespacedName, forget func(content.Request), wanted ...content.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.requests == nil {
		i.requests = map[[sha256.Size]byte]content.Request{}
	}
	var keys [][sha256.Size]byte
	for _, request := range wanted {
		key := request.ID()
		i.requests[key] = request
		keys = append(keys, key)
	}
	// Under the lock: whoever begins to need it now looks it up after it was forgotten.
	for _, key := range i.users.set(name, keys...) {
		forget(i.requests[key])
		delete(i.requests, key)
	}
}

func (i *inquiries) of(request content.Request) []types.NamespacedName {
	return i.users.of(request.ID())
}

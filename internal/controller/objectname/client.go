package objectname

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Reader is r, for which an object with an impossible name does not exist.
func Reader(r client.Reader) client.Reader {
	if r == nil {
		return nil
	}
	return &reader{r}
}

type reader struct{ client.Reader }

func (r *reader) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if err := missing(key, into); err != nil {
		return err
	}
	return r.Reader.Get(ctx, key, into, opts...)
}

// Client is c, for which an object with an impossible name does not exist.
func Client(c client.Client) client.Client {
	if c == nil {
		return nil
	}
	return &writer{c}
}

type writer struct{ client.Client }

func (w *writer) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if err := missing(key, into); err != nil {
		return err
	}
	return w.Client.Get(ctx, key, into, opts...)
}

// Manager is m, whose clients know of no object with an impossible name: what it is given to, and what that makes of it, need not
// think of them.
func Manager(m manager.Manager) manager.Manager {
	return &asking{Manager: m, client: Client(m.GetClient()), live: Reader(m.GetAPIReader())}
}

type asking struct {
	manager.Manager
	client client.Client
	live   client.Reader
}

func (a *asking) GetClient() client.Client    { return a.client }
func (a *asking) GetAPIReader() client.Reader { return a.live }

// missing is the error for an object that cannot exist, nil for one that may.
func missing(key client.ObjectKey, obj client.Object) error {
	kind := kindOf(obj)
	if Problem(kind, key.Name) == "" && (key.Namespace == "" || NamespaceProblem(key.Namespace) == "") {
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, shown(key.Name))
}

// kindOf is what messages call an object: most carry no kind of their own.
func kindOf(obj client.Object) string {
	if kind := obj.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	name := fmt.Sprintf("%T", obj)
	return name[strings.LastIndexByte(name, '.')+1:]
}

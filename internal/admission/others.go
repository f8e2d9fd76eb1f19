package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// holders finds the other objects of a kind that have the value of an index, by name. The index is behind by some milliseconds in both
// directions, so what was admitted a moment ago counts too, and every hit is read from the API before it is held against
// anybody. Without a hit, which is nearly always, that is one look into memory.
func holders[P client.Object](ctx context.Context, c *check, list client.ObjectList, index, value string, empty func() P, has func(P) bool) ([]types.NamespacedName, error) {
	if err := c.Cached.List(ctx, list, client.MatchingFields{index: value}); err != nil {
		return nil, fmt.Errorf("find others by %s: %w", index, err)
	}
	key := held{c.Kind, index, value}
	found := c.recent.holders(key)
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		if o, ok := item.(client.Object); ok {
			found = append(found, client.ObjectKeyFromObject(o))
		}
		return nil
	})
	c.holds = append(c.holds, key)
	slices.SortFunc(found, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })

	var confirmed []types.NamespacedName
	for _, name := range slices.Compact(found) {
		if name == c.name() {
			continue
		}
		other := empty()
		exists, err := c.live(ctx, name, other)
		if err != nil {
			return nil, err
		}
		if exists && has(other) {
			confirmed = append(confirmed, name)
		}
	}
	return confirmed, nil
}

// blank is an object to read into.
func blank[T any]() *T { return new(T) }

// live reads an object from the API and reports whether there is one. There is none whose name cannot stand in a request, and asking for it is
// an error of the client's: not one that goes away when it is tried again.
func (c *check) live(ctx context.Context, key types.NamespacedName, into client.Object) (bool, error) {
	if len(content.IsPathSegmentName(key.Name)) > 0 || len(content.IsPathSegmentName(key.Namespace)) > 0 {
		return false, nil
	}
	err := c.Live.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %T %q: %w", into, display(key), err)
	}
	return true, nil
}

// taken reports whether there is an object of a name, for a rule that refuses if there is. Like holders it looks into memory, and at what was
// admitted a moment ago, and asks the API only about a hit.
func (c *check) taken(ctx context.Context, kind schema.GroupKind, key types.NamespacedName, into client.Object) (bool, error) {
	if err := c.Cached.Get(ctx, key, into); apierrors.IsNotFound(err) && len(c.recent.holders(named(kind, key))) == 0 {
		return false, nil
	}
	return c.live(ctx, key, into)
}

// spared is live for kinds of which memory holds nothing, as long as the API can spare it: who makes thousands of Servers is a controller, and
// the names that it makes are not those of Secrets.
func (c *check) spared(ctx context.Context, key types.NamespacedName, into client.Object) (bool, error) {
	if !c.spare.TryAccept() {
		return false, nil
	}
	return c.live(ctx, key, into)
}

// missed says that there is no object of a name, for a rule that warns of it. The API is asked where memory does not know, but not more often
// than it can spare: a warning is not worth holding others up, and who makes thousands of objects reads none.
func (c *check) missed(ctx context.Context, key types.NamespacedName, into client.Object) (bool, error) {
	if err := c.Cached.Get(ctx, key, into); err == nil {
		return false, nil
	}
	return c.missedLive(ctx, key, into)
}

// missedLive is missed for kinds of which memory holds nothing: it is not asked, as it would pass the question on to the API.
func (c *check) missedLive(ctx context.Context, key types.NamespacedName, into client.Object) (bool, error) {
	if !c.spare.TryAccept() {
		return false, nil
	}
	exists, err := c.live(ctx, key, into)
	return !exists, err
}

// named is under which an object is remembered by its name.
func named(kind schema.GroupKind, key types.NamespacedName) held {
	return held{kind, "metadata.name", key.String()}
}

// name is the key of the object that the request is about.
func (c *check) name() types.NamespacedName {
	return types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
}

// display is how people write the name of an object.
func display(key types.NamespacedName) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.String()
}

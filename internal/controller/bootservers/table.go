package bootservers

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/controller/registrations"
)

// Secrets is a cache of the one Secret that says which boot servers have joined.
func Secrets(config *rest.Config, scheme *runtime.Scheme, namespace string) (cache.Cache, error) {
	return cache.New(config, cache.Options{
		Scheme: scheme,
		ByObject: map[client.Object]cache.ByObject{&corev1.Secret{}: {
			Namespaces: map[string]cache.Config{namespace: {}}, Field: fields.OneTermEqualSelector("metadata.name", registrations.SecretName),
		}},
	})
}

// Table keeps the table of boot servers: those that are given, and those that have joined.
type Table struct {
	cache  cache.Cache
	set    func(peer.Table)
	logger logr.Logger

	mu            sync.Mutex
	given, joined peer.Table
	now           peer.Table
	// sites are those that have a boot server.
	sites atomic.Pointer[map[string]bool]
}

// NewTable makes a Table that has those that are given. set is told of the table whenever it has changed.
func NewTable(secrets cache.Cache, given peer.Table, set func(peer.Table), logger logr.Logger) *Table {
	t := &Table{cache: secrets, set: set, logger: logger, given: given}
	t.use(t.whole())
	return t
}

// Has reports whether a site has a boot server, wherever that is now.
func (t *Table) Has(site string) bool { return (*t.sites.Load())[site] }

// All returns the table.
func (t *Table) All() peer.Table {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.now)
}

func (t *Table) use(now peer.Table) {
	t.now = now
	sites := map[string]bool{}
	for _, entry := range now {
		sites[entry.Site] = true
	}
	t.sites.Store(&sites)
}

// SetGiven replaces those that are given.
func (t *Table) SetGiven(given peer.Table) {
	t.change(func() { t.given = given })
}

func (t *Table) change(change func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change()
	if now := t.whole(); !maps.Equal(now, t.now) {
		t.use(now)
		t.set(now)
	}
}

// whole is the table. Of a boot server that is given and has joined too, the given site counts, and the key that it has joined with.
func (t *Table) whole() peer.Table {
	all := peer.Table{}
	maps.Copy(all, t.joined)
	for name, given := range t.given {
		given.Key = t.joined[name].Key
		all[name] = given
	}
	return all
}

// Run follows the Secret until ctx ends.
func (t *Table) Run(ctx context.Context) error {
	informer, err := t.cache.GetInformer(ctx, &corev1.Secret{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { t.changed(obj) },
		UpdateFunc: func(_, obj any) { t.changed(obj) },
		DeleteFunc: func(any) { t.change(func() { t.joined = nil }) },
	})
	return errors.Join(err, t.cache.Start(ctx))
}

func (t *Table) changed(obj any) {
	secret, ok := obj.(*corev1.Secret)
	if !ok || secret.Name != registrations.SecretName {
		return
	}
	joined, errs := registrations.Table(secret)
	for _, err := range errs {
		t.logger.Info("boot server that has joined not read", "error", err)
	}
	t.change(func() { t.joined = joined })
}

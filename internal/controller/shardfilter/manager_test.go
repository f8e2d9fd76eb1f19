package shardfilter

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/shard"
)

// informer keeps who follows it. What it does not implement, nobody asks for.
type informer struct {
	cache.Informer
	handlers []toolscache.ResourceEventHandler
}

func (i *informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, h)
	return nil, nil
}

func (i *informer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, _ time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (i *informer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, _ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

// informers are a cache with one informer.
type informers struct {
	cache.Cache
	one *informer
}

func (c *informers) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	if c.one == nil {
		return nil, fmt.Errorf("broken")
	}
	return c.one, nil
}

func (c *informers) GetInformerForKind(context.Context, schema.GroupVersionKind, ...cache.InformerGetOption) (cache.Informer, error) {
	return c.one, nil
}

type fakeManager struct {
	manager.Manager
	client client.Client
	cache  cache.Cache
}

func (m *fakeManager) GetClient() client.Client { return m.client }
func (m *fakeManager) GetCache() cache.Cache    { return m.cache }

// told writes down what it is told.
type told []string

func (l *told) handler() toolscache.ResourceEventHandler {
	name := func(obj any) string {
		if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
			return gone.Key
		}
		return obj.(client.Object).GetName() //nolint:forcetypeassert // of a test
	}
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { *l = append(*l, fmt.Sprintf("add %s %t", name(obj), initial)) },
		UpdateFunc: func(_, obj any) { *l = append(*l, "update "+name(obj)) },
		DeleteFunc: func(obj any) { *l = append(*l, "delete "+name(obj)) },
	}
}

func (l *told) want(t *testing.T, what string, want ...string) {
	t.Helper()
	if !slices.Equal(*l, want) {
		t.Errorf("%s: told %q, want %q", what, *l, want)
	}
	*l = nil
}

// ways are those in which a controller follows an informer.
var ways = map[string]func(cache.Informer, toolscache.ResourceEventHandler) error{
	"plain": func(i cache.Informer, h toolscache.ResourceEventHandler) error {
		_, err := i.AddEventHandler(h)
		return err
	},
	"with a period": func(i cache.Informer, h toolscache.ResourceEventHandler) error {
		_, err := i.AddEventHandlerWithResyncPeriod(h, time.Minute)
		return err
	},
	"with options": func(i cache.Informer, h toolscache.ResourceEventHandler) error {
		_, err := i.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{})
		return err
	},
}

// TestControllersAreToldOfTheirShard: a Server that gets another BMC is gone for the shard of the one, and new for that of the other.
func TestControllersAreToldOfTheirShard(t *testing.T) {
	const shards = 2
	var bmcs [shards]string
	for i := 0; bmcs[0] == "" || bmcs[1] == ""; i++ {
		bmcs[shard.Of(fmt.Sprint("bmc-", i), shards)] = fmt.Sprint("bmc-", i)
	}
	for way, follow := range ways {
		t.Run(way, func(t *testing.T) {
			var logs [shards]told
			all := &informer{}
			for i := range logs {
				m := Filter{Shard: i, Shards: shards}.Manager(&fakeManager{client: controllertest.NewAPI(t), cache: &informers{one: all}})
				got, err := m.GetCache().GetInformer(t.Context(), &metalv1.Server{})
				if err != nil {
					t.Fatal(err)
				}
				if err := follow(got, logs[i].handler()); err != nil {
					t.Fatal(err)
				}
			}
			was, is := referring("s", bmcs[0]), referring("s", bmcs[1])
			tell := func(do func(toolscache.ResourceEventHandler)) {
				for _, h := range all.handlers {
					do(h)
				}
			}
			tell(func(h toolscache.ResourceEventHandler) { h.OnAdd(was, true) })
			logs[0].want(t, "new, for its shard", "add s true")
			logs[1].want(t, "new, for the other")
			tell(func(h toolscache.ResourceEventHandler) { h.OnUpdate(was, was) })
			logs[0].want(t, "changed, for its shard", "update s")
			logs[1].want(t, "changed, for the other")
			tell(func(h toolscache.ResourceEventHandler) { h.OnUpdate(was, is) })
			logs[0].want(t, "moved away", "delete s")
			logs[1].want(t, "moved here", "add s false")
			tell(func(h toolscache.ResourceEventHandler) { h.OnDelete(is) })
			logs[0].want(t, "gone, for the other")
			logs[1].want(t, "gone, for its shard", "delete s")
			tell(func(h toolscache.ResourceEventHandler) {
				h.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "s", Obj: was})
			})
			logs[0].want(t, "gone at some time, for its shard", "delete s")
			logs[1].want(t, "gone at some time, for the other")
			tell(func(h toolscache.ResourceEventHandler) { h.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "s"}) })
			logs[0].want(t, "gone, and nothing is known", "delete s")
			logs[1].want(t, "gone, and nothing is known", "delete s")
		})
	}
}

// TestOtherKindsAreToldToAll: which shard they are in can follow from a Server that does not exist yet.
func TestOtherKindsAreToldToAll(t *testing.T) {
	for _, obj := range append(undivided(), about["BIOSSettings"]("o", "none"), about["BMCUser"]("o", "none")) {
		var log told
		all := &informer{}
		m := Filter{Shard: 5, Shards: 6}.Manager(&fakeManager{client: controllertest.NewAPI(t), cache: &informers{one: all}})
		got, err := m.GetCache().GetInformer(t.Context(), obj)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := got.AddEventHandler(log.handler()); err != nil {
			t.Fatal(err)
		}
		all.handlers[0].OnAdd(obj, false)
		log.want(t, fmt.Sprintf("%T", obj), "add o false")
	}
	broken := Filter{Shards: 6}.Manager(&fakeManager{client: controllertest.NewAPI(t), cache: &informers{}})
	if got, err := broken.GetCache().GetInformer(t.Context(), &metalv1.Server{}); got != nil || err == nil {
		t.Errorf("without an informer: %v, %v", got, err)
	}
}

// TestAManagerHasTheClientOfItsShard.
func TestAManagerHasTheClientOfItsShard(t *testing.T) {
	api := controllertest.NewAPI(t, &metalv1.BMC{ObjectMeta: meta("bmc")})
	for i := range 3 {
		m := Filter{Shard: i, Shards: 3, Servers: api}.Manager(&fakeManager{client: api, cache: &informers{}})
		err := m.GetClient().Get(t.Context(), client.ObjectKey{Name: "bmc"}, &metalv1.BMC{})
		if own := i == shard.Of("bmc", 3); (err == nil) != own {
			t.Errorf("shard %d: %v", i, err)
		}
	}
}

package system

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// oneInformer is a cache with one informer.
type oneInformer struct {
	cache.Cache
	informer toolscache.SharedIndexInformer
}

func (c oneInformer) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return c.informer, nil
}

func (c oneInformer) GetInformerForKind(context.Context, schema.GroupVersionKind, ...cache.InformerGetOption) (cache.Informer, error) {
	return c.informer, nil
}

// TestATermLeavesNoHandlers: whoever follows an informer during a term hears nothing after it, however it began to follow, and nobody begins
// afterwards.
func TestATermLeavesNoHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c contact
		api := &watched{}
		shared := oneInformer{informer: c.informer(api, &corev1.Secret{}, 0, toolscache.Indexers{})}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { shared.informer.RunWithContext(ctx); close(done) }()
		synctest.Wait()

		var heard atomic.Int32
		count := toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) { heard.Add(1) }}
		const terms, ways = 3, 4
		for n := range terms {
			m := &termManager{cache: &termCache{Cache: shared}}
			byObject, err1 := m.GetCache().GetInformer(ctx, &corev1.Secret{})
			byKind, err2 := m.GetCache().GetInformerForKind(ctx, schema.GroupVersionKind{})
			_, err3 := byObject.AddEventHandler(count)
			_, err4 := byObject.AddEventHandlerWithResyncPeriod(count, time.Hour)
			_, err5 := byKind.AddEventHandlerWithOptions(count, toolscache.HandlerOptions{})
			if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
				t.Fatal(err)
			}
			late := make(chan error, 1)
			_ = m.Add(manager.RunnableFunc(func(ctx context.Context) error {
				_, err := byKind.AddEventHandler(count)
				<-ctx.Done()
				return err
			}))
			term, end := context.WithCancel(ctx)
			go func() { late <- m.Start(term) }()
			synctest.Wait()
			heard.Store(0)
			api.current.Load().Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: string(rune('a' + n)), ResourceVersion: "2"}})
			synctest.Wait()
			if heard.Load() != ways {
				t.Errorf("term %d: heard %d times, want %d", n, heard.Load(), ways)
			}
			end()
			if err := <-late; err != nil {
				t.Error(err)
			}
			if _, err := byObject.AddEventHandler(count); !errors.Is(err, errTermOver) {
				t.Errorf("a handler was added after the term: %v", err)
			}
		}
		heard.Store(0)
		api.current.Load().Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "z", ResourceVersion: "3"}})
		synctest.Wait()
		if heard.Load() != 0 {
			t.Errorf("heard %d times after the terms", heard.Load())
		}
		cancel()
		<-done
	})
}

// TestATermEndsAsAWhole: a part that fails ends the others, which are waited for; one that is done does not.
func TestATermEndsAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken, fail := errors.New("broken"), make(chan struct{})
		m := &termManager{cache: &termCache{}}
		var others atomic.Int32
		for _, part := range []manager.RunnableFunc{
			func(context.Context) error { return nil },
			func(ctx context.Context) error { <-ctx.Done(); others.Add(1); return ctx.Err() },
			func(context.Context) error { <-fail; return broken },
		} {
			_ = m.Add(part)
		}
		ended := make(chan error, 1)
		go func() { ended <- m.Start(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("ended with %v, and nothing had failed", err)
		default:
		}
		close(fail)
		if err := <-ended; !errors.Is(err, broken) || others.Load() != 1 {
			t.Errorf("ended with %v; others that ended before: %d", err, others.Load())
		}
	})
}

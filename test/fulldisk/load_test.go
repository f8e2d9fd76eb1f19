package fulldisk

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/test/lab"
)

// load writes objects and knows which of them were acknowledged.
type load struct {
	api client.Client

	mu     sync.Mutex
	stored map[string]string // the acknowledged content of each object
	unsure map[string]string // what was written last and not acknowledged: it may be there or not

	writes, refusals atomic.Int64
	odd              atomic.Pointer[error] // an error that is no refusal for want of room

	stop    context.CancelFunc
	running sync.WaitGroup
}

// objects is how many each writer has: it writes them again and again.
const objects = 20

func newLoad(t *testing.T, p *lab.Running, writers int) *load {
	l := &load{api: impatient(t, p), stored: map[string]string{}, unsure: map[string]string{}}
	ctx, cancel := context.WithCancel(t.Context())
	l.stop = cancel
	for writer := range writers {
		l.running.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				l.write(ctx, fmt.Sprintf("load-%d-%d", writer, i%objects), i)
			}
		})
	}
	return l
}

// end ends the writing.
func (l *load) end() {
	l.stop()
	l.running.Wait()
}

// impatient is a client that hands a refusal on, where others try again for some seconds.
func impatient(t *testing.T, p *lab.Running) client.Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return withoutRetries{next} })
	api, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

type withoutRetries struct{ http.RoundTripper }

func (w withoutRetries) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := w.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Header.Del("Retry-After")
	}
	return response, err
}

func (l *load) write(ctx context.Context, name string, round int) {
	// Some are large, so that the log and the database grow fast.
	content := fmt.Sprint(round, " ", strings.Repeat("x", 1<<(10+round%8)))
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"content": content}}
	l.mu.Lock()
	_, there := l.stored[name]
	l.unsure[name] = content
	l.mu.Unlock()
	var err error
	if there {
		err = l.api.Update(ctx, object)
	} else if err = l.api.Create(ctx, object); apierrors.IsAlreadyExists(err) {
		err = l.api.Update(ctx, object)
	}
	if err == nil {
		l.mu.Lock()
		l.stored[name] = content
		delete(l.unsure, name)
		l.mu.Unlock()
		l.writes.Add(1)
		return
	}
	if ctx.Err() != nil {
		return
	}
	if apierrors.ReasonForError(err) == "InsufficientStorage" && strings.Contains(err.Error(), "the disk of ") {
		l.refusals.Add(1)
	} else if !strings.Contains(err.Error(), "database space exceeded") { // the store's own refusal, of what had passed the first
		l.odd.CompareAndSwap(nil, &err)
	}
}

// lost are the objects that are not what was acknowledged last.
func (l *load) lost(ctx context.Context, c client.Reader) (lost []string, err error) {
	for name, want := range l.stored {
		var found corev1.ConfigMap
		err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, &found)
		if apierrors.IsNotFound(err) {
			lost = append(lost, name)
			continue
		}
		if err != nil {
			return nil, err
		}
		if got := found.Data["content"]; got != want && got != l.unsure[name] {
			lost = append(lost, name)
		}
	}
	return lost, nil
}

// machine asks the boot server what a machine asks, again and again.
type machine struct {
	answers, failures atomic.Int64
	last              atomic.Pointer[error]
}

func (m *machine) ask(ctx context.Context, caller *http.Client, url string) {
	for ctx.Err() == nil {
		if err := get(ctx, caller, url); err == nil {
			m.answers.Add(1)
		} else if ctx.Err() == nil {
			m.failures.Add(1)
			m.last.Store(&err)
		}
	}
}

func get(ctx context.Context, caller *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := caller.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}

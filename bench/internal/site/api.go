package site

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/api"
	"github.com/farrier-dev/farrier/bench/internal/program"
	manifests "github.com/farrier-dev/farrier/config"
	"github.com/farrier-dev/farrier/internal/controlplane/crds"
)

const (
	// APIPackage is what API is built of.
	APIPackage = "github.com/farrier-dev/farrier/internal/controlplane/testapi/apiserver"
	// Namespace is the manager's.
	Namespace = "farrier-system"
	// readyTimeout is how long an API may take to start.
	readyTimeout = time.Minute
	// writers is how many objects are created at a time.
	writers = 16
)

// API is a Kubernetes API in a process of its own.
type API struct {
	client.WithWatch
	Process    *program.Program
	Kubeconfig string
	Config     *rest.Config
	http       *http.Client
}

// StartAPI starts one with an empty store in a folder. It serves profiles of itself at an address, if there is one.
func StartAPI(ctx context.Context, binary, folder, profiles string) (*API, error) {
	a := &API{Kubeconfig: filepath.Join(folder, "kubeconfig")}
	ready := make(chan struct{})
	var once sync.Once
	var err error
	a.Process, err = program.Start(ctx, binary, func(line string) {
		if strings.HasPrefix(line, "ready ") {
			once.Do(func() { close(ready) })
		}
	}, "--data-dir", filepath.Join(folder, "api"), "--kubeconfig", a.Kubeconfig, "--pprof-address", profiles)
	if err != nil {
		return nil, err
	}
	select {
	case <-ready:
	case <-a.Process.Exited():
		return nil, a.Process.Err()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(readyTimeout):
		return nil, errors.New("the Kubernetes API is not ready in time")
	}
	if err := a.connect(ctx); err != nil {
		return nil, errors.Join(err, a.Process.Stop())
	}
	return a, nil
}

func (a *API) connect(ctx context.Context) (err error) {
	if a.Config, err = clientcmd.BuildConfigFromFlags("", a.Kubeconfig); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	a.Config.QPS = -1
	if a.http, err = rest.HTTPClientFor(a.Config); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	definitions, err := manifests.CRDs()
	if err != nil {
		return err
	}
	if err := crds.Install(ctx, a.Config, definitions, crds.Options{SingleServer: true}); err != nil {
		return err
	}
	if a.WithWatch, err = client.NewWithWatch(a.Config, client.Options{Scheme: Scheme()}); err != nil {
		return err
	}
	return a.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}})
}

// Scheme knows the kinds that benchmarks and controllers write.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // a kind registered twice, in this very program
		}
	}
	return scheme
}

// Each does something n times, several at a time, and ends at the first error.
func Each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	next := make(chan int)
	for range writers {
		running.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	running.Wait()
	return context.Cause(ctx)
}

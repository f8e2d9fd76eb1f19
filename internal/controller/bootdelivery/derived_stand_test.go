package bootdelivery

import (
	"context"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/controller/bootconfig"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/derivedboot"
	"github.com/farrier-dev/farrier/internal/controller/leadership"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// probe is the name of the internal boot: that of its Server.
const probe = "ns/s"

// fleet is an API, a registry, and replicas that share them.
type fleet struct {
	*controllertest.API
	images *registry.Resolver
	image  string
	away   *registry.Resolver // it answers nothing
	told   []string           // reasons of events
}

// newFleet has a Server whose probe is prepared, and not ordered yet.
func newFleet(t *testing.T, images ...localregistry.Image) *fleet {
	t.Helper()
	remote, err := localregistry.Start(t.Context(), "127.0.0.1:0", func(next http.Handler) http.Handler { return next })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = remote.Stop() })
	content := localregistry.Image{Kernel: []byte("kernel"), Initramfs: []byte("initramfs"), UKI: []byte("uki")}
	if len(images) > 0 {
		content = images[0]
	}
	pushed, err := remote.Push(t.Context(), "probe", "1", content)
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{image: pushed.Reference}
	resolver := func() *registry.Resolver {
		r, err := registry.NewResolver(registry.Options{AllowedRegistries: []string{remote.Address()}, PlainHTTP: []string{remote.Address()}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	f.images, f.away = resolver(), resolver()
	f.resolve(t)
	return f.anew(t)
}

// anew is the same with an API of its own.
func (f *fleet) anew(t *testing.T) *fleet {
	t.Helper()
	server := ours()[0].(*metalv1.Server)
	server.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: "ns", Name: "s"}
	api := controllertest.NewAPI(t, server, secret("s-ssh", map[string]string{"ignition": "{}"}), internal(f.image))
	return &fleet{API: api, images: f.images, image: f.image, away: f.away}
}

// resolve waits until the image is resolved.
func (f *fleet) resolve(t *testing.T) {
	t.Helper()
	known := make(chan struct{}, 1)
	f.images.Subscribe(func(registry.Request) {
		select {
		case known <- struct{}{}:
		default:
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.images.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	request := registry.Request{Reference: f.image, Architecture: "amd64"}
	for {
		if result, resolved := f.images.Lookup(request); resolved {
			if result.Err != nil {
				t.Fatal(result.Err)
			}
			return
		}
		<-known
	}
}

// internal is what the controller of servers prepares.
func internal(image string) *metalv1.ServerBootConfiguration {
	c := &metalv1.ServerBootConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", UID: "probe-uid", CreationTimestamp: metav1.NewTime(controllertest.Start)}}
	c.Annotations = map[string]string{metalv1.AnnotationType: metalv1.TypeInternal, metalv1.AnnotationBootAttempt: `{"id":"first","number":1}`}
	c.Spec.ServerRef.Name, c.Spec.Image = "s", image
	c.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{Name: "s-ssh"}
	return c
}

// replica is one process.
type replica struct {
	*fleet
	*Delivery
	leads   *leadership.Leadership
	configs *bootconfig.Reconciler
	methods []*reconciler
}

// starts makes a process that does not lead yet. With the registry away it resolves nothing.
func (f *fleet) starts(t *testing.T, away bool) *replica {
	t.Helper()
	r := &replica{fleet: f, leads: &leadership.Leadership{}}
	c, derived := r.leads.Client(f.API), &derivedboot.Configs{Namespace: "ns"}
	r.Delivery = &Delivery{
		Client: c, APIReader: f.API, View: bootview.New(), Clock: f.API.Clock, Sites: booturl.Single(bootURL), TokenKey: tokenKey, Derived: derived,
		WakeServer: func(string) {},
	}
	r.notes.init()
	r.View.SetSynced(!away)
	r.configs = &bootconfig.Reconciler{
		Client: c, APIReader: f.API, Images: f.images, Sites: booturl.Single(bootURL), Architecture: "amd64", Derived: derived, Recorder: f,
		Clock: f.API.Clock,
	}
	if away {
		r.configs.Images = f.away
	}
	for _, m := range bootmethod.Methods {
		r.methods = append(r.methods, &reconciler{Delivery: r.Delivery, method: m})
	}
	return r
}

// Eventf makes the fleet an event recorder.
func (f *fleet) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	f.told = append(f.told, reason)
}

// settle does what there is to do.
func (r *replica) settle(t *testing.T) {
	t.Helper()
	for range 4 {
		r.Step(t, r.configs, probe)
		for _, m := range r.methods {
			r.Step(t, m, probe)
		}
	}
}

func (r *replica) script(t *testing.T) string {
	t.Helper()
	m, status := r.View.ByUUID(uuid)
	if status != bootview.Found {
		t.Fatalf("the machine is %s", status)
	}
	return string(m.Script().Render(bootURL))
}

func (f *fleet) config(t *testing.T) *metalv1.ServerBootConfiguration {
	t.Helper()
	return controllertest.Read[metalv1.ServerBootConfiguration](t, f.API, probe)
}

// order orders the boot, as the controller of servers does with the leader's memory.
func (r *replica) order(t *testing.T, id string) {
	t.Helper()
	image, settled := r.Derived.Settled(r.config(t))
	if !settled {
		t.Fatal("the boot configs are not settled")
	}
	controllertest.Change(t, r.API, probe, func(c *metalv1.ServerBootConfiguration) {
		var none *bootattempt.Attempt
		c.Annotations[metalv1.AnnotationBootAttempt] = none.Next(id, r.API.Clock.Now()).SeenOn(r.API.Clock.Now()).String()
		c.Annotations[metalv1.AnnotationBootImage] = image.String()
	})
}

// fetches has a replica deliver something.
func (f *fleet) fetches(r *replica, kind bootview.DeliveryKind, attempt string) {
	d := fetched(kind, attempt, "10.0.0.7")
	d.Entry, d.Time = "IPXEBootConfig/"+probe, f.API.Clock.Now()
	r.Delivered(d)
}

func secretNamed(t *testing.T, f *fleet, name string) client.Object {
	t.Helper()
	obj := secret(name, nil)
	if err := f.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

package bootconfig

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/image/signature"
)

const (
	bootURL = "http://boot.example.org:8082"
	uuid    = "00000000-0000-0000-0000-000000000001"
)

var (
	kernel   = localregistry.Image{Kernel: []byte("kernel"), Initramfs: []byte("initramfs")}
	squashfs = localregistry.Image{Kernel: []byte("kernel 2"), Initramfs: []byte("initramfs 2"), Squashfs: []byte("squashfs 2")}
	uki      = localregistry.Image{UKI: []byte("uki")}
	both     = localregistry.Image{Kernel: []byte("kernel"), Initramfs: []byte("initramfs"), UKI: []byte("uki")}
)

// stand is a boot configuration controller with a real resolver and a real registry.
type stand struct {
	*controllertest.API
	*Reconciler
	registry *localregistry.Registry
	pause    sync.RWMutex // held for writing: the registry does not answer
	queue    workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func newStand(t *testing.T, objects ...client.Object) *stand {
	t.Helper()
	return newStandThatTrusts(t, signature.Keys{}, objects...)
}

// newStandThatTrusts is a stand with images that one of the keys has to have signed, if there are any.
func newStandThatTrusts(t *testing.T, keys signature.Keys, objects ...client.Object) *stand {
	t.Helper()
	s := &stand{
		API:   controllertest.NewAPI(t, append(objects, newServer())...),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()),
	}
	remote, err := localregistry.Start(t.Context(), "127.0.0.1:0", func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.pause.RLock()
			defer s.pause.RUnlock()
			next.ServeHTTP(w, r)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = remote.Stop() })
	images, err := registry.NewResolver(registry.Options{
		AllowedRegistries: []string{remote.Address()}, PlainHTTP: []string{remote.Address()},
		Refresh: time.Millisecond, MinBackoff: time.Millisecond, MaxBackoff: time.Millisecond, SignatureKeys: keys,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.registry = remote
	s.Reconciler = &Reconciler{Client: s.API, APIReader: s.API, Images: images, Sites: booturl.Single(bootURL), Architecture: "amd64"}
	images.Subscribe(s.interest.wake)
	if err := s.interest.source.Start(t.Context(), s.queue); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- images.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
		s.queue.ShutDown()
	})
	return s
}

func newServer() *metalv1.Server {
	s := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
	s.Spec.SystemUUID = uuid
	s.Status.NetworkInterfaces = []metalv1.NetworkInterface{
		{Name: "eth0", MACAddress: "02:00:00:00:00:01", IPs: []string{"10.0.0.7", "fd00::7"}}, {Name: "eth1", MACAddress: "02:00:00:00:00:02"},
	}
	return s
}

func newConfig(image string) *metalv1.ServerBootConfiguration {
	c := &metalv1.ServerBootConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	c.Spec.ServerRef.Name, c.Spec.Image = "s", image
	c.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{Name: "ignition"}
	return c
}

func (s *stand) push(t *testing.T, tag string, img localregistry.Image) localregistry.Pushed {
	t.Helper()
	pushed, err := s.registry.Push(t.Context(), "os", tag, img)
	if err != nil {
		t.Fatal(err)
	}
	return pushed
}

// pushed is a stand with an image and a boot configuration that names it.
func pushed(t *testing.T, img localregistry.Image, objects ...client.Object) (*stand, localregistry.Pushed) {
	t.Helper()
	s := newStand(t, objects...)
	p := s.push(t, "1", img)
	s.Add(t, newConfig(p.Reference))
	return s, p
}

// settle reconciles the boot configuration until nothing is written, nor awaited.
func (s *stand) settle(t *testing.T) *metalv1.ServerBootConfiguration {
	t.Helper()
	s.Settle(t, s.Reconciler, "ns/c")
	return controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/c")
}

// woken waits until the resolver has news for the boot configuration, and settles it.
func (s *stand) woken(t *testing.T) *metalv1.ServerBootConfiguration {
	t.Helper()
	req, _ := s.queue.Get()
	s.queue.Done(req)
	if req.Namespace != "ns" || req.Name != "c" {
		t.Fatalf("woken is %s", req)
	}
	return s.settle(t)
}

// unresolved is settle while the registry has not answered yet.
func (s *stand) unresolved(t *testing.T) *metalv1.ServerBootConfiguration {
	t.Helper()
	s.pause.Lock()
	defer s.pause.Unlock()
	return s.settle(t)
}

// resolved is settle, for an image that nobody has asked about before.
func (s *stand) resolved(t *testing.T) *metalv1.ServerBootConfiguration {
	t.Helper()
	s.unresolved(t)
	return s.woken(t)
}

func (s *stand) ipxe(t *testing.T) *bootv1.IPXEBootConfig {
	t.Helper()
	return controllertest.Read[bootv1.IPXEBootConfig](t, s.API, "ns/c")
}

func (s *stand) http(t *testing.T) *bootv1.HTTPBootConfig {
	t.Helper()
	return controllertest.Read[bootv1.HTTPBootConfig](t, s.API, "ns/c")
}

// delivered says of every delivery object that it can be booted, as boot delivery does.
func (s *stand) delivered(t *testing.T) *metalv1.ServerBootConfiguration {
	t.Helper()
	if !controllertest.Gone[bootv1.IPXEBootConfig](t, s.API, "ns/c") {
		controllertest.ChangeStatus(t, s.API, "ns/c", func(c *bootv1.IPXEBootConfig) {
			c.Status.State, c.Status.ObservedGeneration = bootv1.IPXEBootConfigStateReady, c.Generation
		})
	}
	if !controllertest.Gone[bootv1.HTTPBootConfig](t, s.API, "ns/c") {
		controllertest.ChangeStatus(t, s.API, "ns/c", func(c *bootv1.HTTPBootConfig) {
			c.Status.State, c.Status.ObservedGeneration = bootv1.HTTPBootConfigStateReady, c.Generation
		})
	}
	return s.settle(t)
}

func (s *stand) layerURL(p localregistry.Pushed, digest string) string {
	host, _, _ := strings.Cut(p.Reference, "/")
	return bootURL + "/image?imageName=" + url.QueryEscape(host+"/os") + "&layerDigest=" + url.QueryEscape(digest) + "&version=1"
}

// checkState checks state and Ready condition, for the present generation.
func checkState(t *testing.T, c *metalv1.ServerBootConfiguration, state metalv1.ServerBootConfigurationState, says ...string) {
	t.Helper()
	if c.Status.State != state || c.Status.ObservedGeneration != c.Generation {
		t.Errorf("state %s of generation %d, want %s of %d", c.Status.State, c.Status.ObservedGeneration, state, c.Generation)
	}
	want := map[metalv1.ServerBootConfigurationState]metav1.ConditionStatus{metalv1.ServerBootConfigurationStateReady: metav1.ConditionTrue}[state]
	if want == "" {
		want = metav1.ConditionFalse
	}
	controllertest.Says(t, c.Status.Conditions, metalv1.ConditionReady, want, string(state), says...)
}

func TestKernelAndInitramfsMakeAnIPXEBootConfig(t *testing.T) {
	s, p := pushed(t, squashfs)
	checkState(t, s.unresolved(t), metalv1.ServerBootConfigurationStatePending, "resolved")
	s.woken(t)
	want := bootv1.IPXEBootConfigSpec{
		SystemUUID: uuid, SystemIPs: []string{"10.0.0.7", "fd00::7"},
		KernelURL: s.layerURL(p, p.Kernel), InitrdURL: s.layerURL(p, p.Initramfs), SquashfsURL: s.layerURL(p, p.Squashfs),
		IgnitionSecretRef: &bootv1.LocalObjectReference{Name: "ignition"},
	}
	child := s.ipxe(t)
	if diff := cmp.Diff(want, child.Spec); diff != "" {
		t.Errorf("spec (-want +got)\n%s", diff)
	}
	config := s.delivered(t)
	if !metav1.IsControlledBy(child, config) {
		t.Errorf("owned by %v", child.OwnerReferences)
	}
	if !controllertest.Gone[bootv1.HTTPBootConfig](t, s.API, "ns/c") {
		t.Error("there is an HTTPBootConfig too")
	}
	checkState(t, config, metalv1.ServerBootConfigurationStateReady, p.Digest)
	controllertest.Says(t, config.Status.Conditions, metalv1.ConditionImageValidation, metav1.ConditionTrue, "Validated")
	s.ForgetWrites()
	s.settle(t)
	if w := s.Writes(""); len(w) != 0 {
		t.Errorf("nothing is new, and written is %v", w)
	}
}

func TestAUKIMakesAnHTTPBootConfig(t *testing.T) {
	s, p := pushed(t, uki)
	s.resolved(t)
	host, _, _ := strings.Cut(p.Reference, "/")
	want := bootv1.HTTPBootConfigSpec{
		SystemUUID: uuid, NetworkIdentifiers: []string{"10.0.0.7", "fd00::7", "02:00:00:00:00:01", "02:00:00:00:00:02"},
		UKIURL:            bootURL + "/httpboot/" + host + "/os/" + strings.Replace(p.UKI, ":", "-", 1) + ".efi",
		IgnitionSecretRef: &bootv1.LocalObjectReference{Name: "ignition"},
	}
	if diff := cmp.Diff(want, s.http(t).Spec); diff != "" {
		t.Errorf("spec (-want +got)\n%s", diff)
	}
	if !controllertest.Gone[bootv1.IPXEBootConfig](t, s.API, "ns/c") {
		t.Error("there is an IPXEBootConfig too")
	}
	checkState(t, s.delivered(t), metalv1.ServerBootConfigurationStateReady)
}

func TestBothMakeBothAndBothHaveToBeReady(t *testing.T) {
	s, _ := pushed(t, both)
	s.resolved(t)
	controllertest.ChangeStatus(t, s.API, "ns/c", func(c *bootv1.IPXEBootConfig) {
		c.Status.State, c.Status.ObservedGeneration = bootv1.IPXEBootConfigStateReady, c.Generation
	})
	checkState(t, s.settle(t), metalv1.ServerBootConfigurationStatePending, "HTTPBootConfig")
	controllertest.ChangeStatus(t, s.API, "ns/c", func(c *bootv1.HTTPBootConfig) {
		c.Status.State, c.Status.ObservedGeneration = bootv1.HTTPBootConfigStateError, c.Generation
		apimeta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: metalv1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Error", Message: "no secret"})
	})
	checkState(t, s.settle(t), metalv1.ServerBootConfigurationStateError, "HTTPBootConfig", "no secret")
	checkState(t, s.delivered(t), metalv1.ServerBootConfigurationStateReady)
}

func TestAMissingLayerIsNamed(t *testing.T) {
	s, _ := pushed(t, localregistry.Image{Kernel: []byte("kernel alone")})
	config := s.resolved(t)
	controllertest.Says(t, config.Status.Conditions, metalv1.ConditionImageValidation, metav1.ConditionFalse, metalv1.ReasonValidationFailed, "initramfs")
	checkState(t, config, metalv1.ServerBootConfigurationStateError, "initramfs")
	if w := s.Writes("IPXEBootConfig"); len(w) != 0 {
		t.Errorf("something to boot was made of it: %v", w)
	}
	// It recovers by itself when the tag moves to an image that has it.
	s.push(t, "1", kernel)
	s.woken(t)
	checkState(t, s.delivered(t), metalv1.ServerBootConfigurationStateReady)
}

func TestImagesThatAreRefusedAtOnce(t *testing.T) {
	for name, tc := range map[string]struct{ image, says string }{
		"not a reference":        {"UPPER/case:", "UPPER"},
		"registry not allowed":   {"registry.example.org/os:1", "registry.example.org"},
		"no image":               {"", "spec.image is empty"},
		"nothing but whitespace": {" ", " "},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, newConfig(tc.image))
			checkState(t, s.settle(t), metalv1.ServerBootConfigurationStateError, tc.says)
		})
	}
}

func TestARegistryThatIsAwayKeepsTheLastGoodAnswer(t *testing.T) {
	s, p := pushed(t, kernel)
	s.resolved(t)
	s.delivered(t)
	s.ForgetWrites()
	s.registry.SetAway(true)
	config := s.woken(t)
	checkState(t, config, metalv1.ServerBootConfigurationStateReady, p.Digest)
	controllertest.Says(t, config.Status.Conditions, metalv1.ConditionImageValidation, metav1.ConditionTrue, "RegistryUnreachable", "last known image")
	if w := s.Writes("IPXEBootConfig"); len(w) != 0 {
		t.Errorf("what machines are given was touched: %v", w)
	}
	s.registry.SetAway(false)
	controllertest.Says(t, s.woken(t).Status.Conditions, metalv1.ConditionImageValidation, metav1.ConditionTrue, "Validated")
}

// TestAnImageHasToBeSigned: what nobody signed does not boot, and a tag that moves to such an image leaves the last signed one.
func TestAnImageHasToBeSigned(t *testing.T) {
	signer := imagetest.NewSigner(t)
	s := newStandThatTrusts(t, signer.Keys(t))
	p := s.push(t, "1", kernel)
	s.Add(t, newConfig(p.Reference))
	config := s.resolved(t)
	controllertest.Says(t, config.Status.Conditions, metalv1.ConditionImageValidation, metav1.ConditionFalse, metalv1.ReasonImageNotSigned, p.Digest+" has no signature")
	checkState(t, config, metalv1.ServerBootConfigurationStateError, "not signed")
	if w := s.Writes("IPXEBootConfig"); len(w) != 0 {
		t.Errorf("it is delivered: %v", w)
	}

	imagetest.PushSimple(t, s.registry.Address()+"/os", p.Digest, signer.SimpleLayer(t, p.Digest))
	s.woken(t)
	config = s.delivered(t)
	checkState(t, config, metalv1.ServerBootConfigurationStateReady, p.Digest)

	s.push(t, "1", squashfs)
	config = s.woken(t)
	checkState(t, config, metalv1.ServerBootConfigurationStateReady, p.Digest)
	controllertest.Says(t, config.Status.Conditions, metalv1.ConditionImageValidation, metav1.ConditionTrue, metalv1.ReasonImageNotSigned, "last signed image")
}

func TestARegistryThatIsAwayFromTheStart(t *testing.T) {
	s := newStand(t)
	p := s.push(t, "1", kernel)
	s.registry.SetAway(true)
	s.Add(t, newConfig(p.Reference))
	config := s.resolved(t)
	controllertest.Says(t, config.Status.Conditions, metalv1.ConditionImageValidation, metav1.ConditionFalse, metalv1.ReasonRegistryUnreachable, p.Reference[:8])
	checkState(t, config, metalv1.ServerBootConfigurationStateError)
	s.registry.SetAway(false)
	s.woken(t)
	checkState(t, s.delivered(t), metalv1.ServerBootConfigurationStateReady)
}

func TestAnotherImageChangesTheURLs(t *testing.T) {
	s, p := pushed(t, squashfs)
	s.resolved(t)
	s.delivered(t)
	p2 := s.push(t, "2", kernel)
	controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) { c.Spec.Image = p2.Reference })
	config := s.unresolved(t)
	checkState(t, config, metalv1.ServerBootConfigurationStatePending, "resolved", "previous image")
	if got := s.ipxe(t).Spec.KernelURL; got != s.layerURL(p, p.Kernel) {
		t.Errorf("until the new image is known the old one is kept, and not %s", got)
	}
	config = s.woken(t)
	if spec := s.ipxe(t).Spec; !strings.Contains(spec.KernelURL, url.QueryEscape(p2.Kernel)) || !strings.HasSuffix(spec.KernelURL, "version=2") || spec.SquashfsURL != "" {
		t.Errorf("spec %+v", spec)
	}
	checkState(t, config, metalv1.ServerBootConfigurationStatePending, "IPXEBootConfig") // Ready was about the generation before
	checkState(t, s.delivered(t), metalv1.ServerBootConfigurationStateReady)
	if _, wanted := s.interest.waiting[keyOf(registry.Request{Reference: p.Reference, Architecture: "amd64"})]; wanted {
		t.Error("the image that nobody boots any more is still followed")
	}
}

func TestAnotherBootMethodRemovesTheOldOne(t *testing.T) {
	s, _ := pushed(t, kernel)
	s.resolved(t)
	s.delivered(t)
	s.push(t, "1", uki)
	s.woken(t)
	if !controllertest.Gone[bootv1.IPXEBootConfig](t, s.API, "ns/c") {
		t.Error("the IPXEBootConfig of the old image is still there")
	}
	checkState(t, s.delivered(t), metalv1.ServerBootConfigurationStateReady)
}

func TestAnotherNICIsFollowed(t *testing.T) {
	s, _ := pushed(t, both)
	s.resolved(t)
	controllertest.ChangeStatus(t, s.API, "s", func(o *metalv1.Server) {
		o.Status.NetworkInterfaces = []metalv1.NetworkInterface{{Name: "eth9", MACAddress: "02:00:00:00:00:09", IPs: []string{"10.0.0.9"}}}
	})
	s.settle(t)
	if got := s.ipxe(t).Spec.SystemIPs; !cmp.Equal(got, []string{"10.0.0.9"}) {
		t.Errorf("iPXE: %v", got)
	}
	if got := s.http(t).Spec.NetworkIdentifiers; !cmp.Equal(got, []string{"10.0.0.9", "02:00:00:00:00:09"}) {
		t.Errorf("HTTP: %v", got)
	}
}

func TestChildrenOfOthersAreNotFoughtOver(t *testing.T) {
	foreign := &bootv1.IPXEBootConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	foreign.Spec.KernelURL, foreign.Spec.InitrdURL = "http://theirs/kernel", "http://theirs/initrd"
	foreign.Status.State = bootv1.IPXEBootConfigStateReady
	foreign.Status.Conditions = []metav1.Condition{{Type: metalv1.ConditionIPXEScriptFetched, Status: metav1.ConditionTrue, Reason: "Delivered"}}
	s, _ := pushed(t, kernel, foreign)
	config := s.resolved(t)
	checkState(t, config, metalv1.ServerBootConfigurationStateError, "IPXEBootConfig ns/c")
	if w := s.Writes("IPXEBootConfig"); len(w) != 0 {
		t.Errorf("it was written to: %v", w)
	}
	if c := apimeta.FindStatusCondition(config.Status.Conditions, metalv1.ConditionIPXEScriptFetched); c != nil {
		t.Error("what a machine fetched of it counts as ours")
	}
	s.Remove(t, foreign)
	s.settle(t)
	checkState(t, s.delivered(t), metalv1.ServerBootConfigurationStateReady)
}

func TestAChildThatSomebodyChangedOrDeletedIsRestored(t *testing.T) {
	s, p := pushed(t, kernel)
	s.resolved(t)
	controllertest.Change(t, s.API, "ns/c", func(c *bootv1.IPXEBootConfig) { c.Spec.KernelURL = "http://elsewhere/kernel" })
	s.settle(t)
	if got := s.ipxe(t).Spec.KernelURL; got != s.layerURL(p, p.Kernel) {
		t.Errorf("kernelURL %s", got)
	}
	s.Remove(t, s.ipxe(t))
	checkState(t, s.settle(t), metalv1.ServerBootConfigurationStatePending, "IPXEBootConfig")
	s.ipxe(t)
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	t.Run("the server", func(t *testing.T) {
		c := newConfig("registry/os:1")
		c.Spec.ServerRef.Name = "missing"
		s := newStand(t, c)
		checkState(t, s.settle(t), metalv1.ServerBootConfigurationStateError, `Server "missing" does not exist`)
	})
	t.Run("the reference", func(t *testing.T) {
		c := newConfig("registry/os:1")
		c.Spec.ServerRef.Name = ""
		s := newStand(t, c)
		checkState(t, s.settle(t), metalv1.ServerBootConfigurationStateError, "spec.serverRef.name")
	})
	t.Run("an identity", func(t *testing.T) {
		s, _ := pushed(t, kernel)
		controllertest.Change(t, s.API, "s", func(o *metalv1.Server) { o.Spec.SystemUUID = "" })
		controllertest.ChangeStatus(t, s.API, "s", func(o *metalv1.Server) { o.Status.NetworkInterfaces = nil })
		checkState(t, s.settle(t), metalv1.ServerBootConfigurationStatePending, "UUID or a MAC")
	})
}

func TestDeliveriesAreMirrored(t *testing.T) {
	s, _ := pushed(t, kernel)
	s.resolved(t)
	s.delivered(t)
	set := func(status metav1.ConditionStatus, reason string) []metav1.Condition {
		controllertest.ChangeStatus(t, s.API, "ns/c", func(c *bootv1.IPXEBootConfig) {
			apimeta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: bootv1.ConditionIgnitionDataFetched, Status: status, Reason: reason})
		})
		return s.settle(t).Status.Conditions
	}
	controllertest.Says(t, set(metav1.ConditionTrue, "Delivered"), metalv1.ConditionIgnitionDataFetched, metav1.ConditionTrue, "Delivered")
	controllertest.Says(t, set(metav1.ConditionFalse, "BootOrdered"), metalv1.ConditionIgnitionDataFetched, metav1.ConditionFalse, "BootOrdered")
}

func TestABootStateIsTakenBackByTheNextBoot(t *testing.T) {
	s, _ := pushed(t, kernel)
	s.resolved(t)
	order := func(id string) {
		controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) {
			var none *bootattempt.Attempt
			c.Annotations = map[string]string{metalv1.AnnotationBootAttempt: none.Next(id, controllertest.Start).String()}
		})
	}
	order("first")
	controllertest.ChangeStatus(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) {
		apimeta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
			Type: metalv1.ConditionBootStateReceived, Status: metav1.ConditionTrue, Reason: "Booted",
		})
		c.Status.BootStateAttempt = "first"
	})
	controllertest.Says(t, s.settle(t).Status.Conditions, metalv1.ConditionBootStateReceived, metav1.ConditionTrue, "Booted")
	order("second")
	controllertest.Says(t, s.settle(t).Status.Conditions, metalv1.ConditionBootStateReceived, metav1.ConditionFalse, "BootOrdered")
}

func TestAnIgnoredBootConfigurationIsLeftAlone(t *testing.T) {
	c := newConfig("registry/os:1")
	c.Annotations = map[string]string{metalv1.AnnotationOperation: metalv1.OperationIgnore}
	s := newStand(t, c)
	s.settle(t)
	if w := s.Writes(""); len(w) != 0 {
		t.Errorf("written: %v", w)
	}
}

func TestAnImageIsForgottenWithItsLastBootConfiguration(t *testing.T) {
	s, p := pushed(t, kernel)
	s.resolved(t)
	s.Remove(t, controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/c"))
	s.Step(t, s.Reconciler, "ns/c")
	if len(s.interest.waiting)+len(s.interest.images) != 0 {
		t.Errorf("still of interest: %v", s.interest.waiting)
	}
	if _, known := s.Images.Lookup(registry.Request{Reference: p.Reference, Architecture: "amd64"}); known {
		t.Error("the resolver has not forgotten it")
	}
}

func TestTheArchitectureIsTheServersOwn(t *testing.T) {
	for set, want := range map[string]string{"x86-64": "amd64", "ARM-A64": "arm64", "aarch64": "arm64", "MIPS64": "riscv64", "": "riscv64"} {
		s := &metalv1.Server{}
		s.Status.Processors = []metalv1.Processor{{InstructionSet: set}}
		if got := architecture(s, "riscv64"); got != want {
			t.Errorf("%q is %s, want %s", set, got, want)
		}
	}
}

func TestWhatIsFetchedByEitherWayIsFetched(t *testing.T) {
	s, _ := pushed(t, both)
	s.resolved(t)
	s.delivered(t)
	for _, by := range []string{"ipxe", "http"} {
		status := map[bool]metav1.ConditionStatus{true: metav1.ConditionTrue, false: metav1.ConditionFalse}
		controllertest.ChangeStatus(t, s.API, "ns/c", func(c *bootv1.IPXEBootConfig) {
			apimeta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: bootv1.ConditionIgnitionDataFetched, Status: status[by == "ipxe"], Reason: "Fetched"})
		})
		controllertest.ChangeStatus(t, s.API, "ns/c", func(c *bootv1.HTTPBootConfig) {
			apimeta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: bootv1.ConditionIgnitionDataFetched, Status: status[by == "http"], Reason: "Fetched"})
		})
		if !apimeta.IsStatusConditionTrue(s.settle(t).Status.Conditions, metalv1.ConditionIgnitionDataFetched) {
			t.Errorf("fetched by %s, and the boot configuration does not say so", by)
		}
	}
}

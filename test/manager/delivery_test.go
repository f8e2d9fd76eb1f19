package manager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// guest is a machine of a lifecycle that is not ours: this test's.
type guest struct {
	name, uuid, address string
	fetches             []string // what it asks for in every boot
	config              client.Object
	conditions          []string // what that comes to
}

const deliveryBoots = 3

// TestBootDeliveryBesideAnotherLifecycle: who looks after the servers is somebody else, who keeps no attempts. Whatever
// machines fetch, also twice, is said once for each boot, and taken back when the machine has gone off.
func TestBootDeliveryBesideAnotherLifecycle(t *testing.T) {
	s := newSiteOf(t, 1)
	if err := bootv1.AddToScheme(s.Scheme()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.registry.Push(t.Context(), "both", "1", s.both()); err != nil {
		t.Fatal(err)
	}
	launch(t, "delivery", append(s.args, "--server-lifecycle", "external")...).isReady()
	guests := s.guests()
	counts := s.countTransitions()
	for boot := range deliveryBoots {
		for _, g := range guests {
			s.switched(g, metalv1.PowerStateOn)
			for range 2 {
				for _, path := range g.fetches {
					eventually(t, g.name+" fetches "+path, func() error { return g.get(t.Context(), s.boot()+path) })
				}
			}
		}
		for _, g := range guests {
			s.are(g, boot, metav1.ConditionTrue, "Delivered")
			s.switched(g, metalv1.PowerStateOff)
			s.are(g, boot, metav1.ConditionFalse, "BootOrdered")
		}
	}
	for _, g := range guests {
		for _, kind := range g.conditions {
			if n := counts.of(g.name, kind); n != deliveryBoots {
				t.Errorf("%s: %s became true %d times in %d boots", g.name, kind, n, deliveryBoots)
			}
		}
	}
}

// guests are described as their owners would: one by a boot configuration that its Server refers to, the others by boot
// configs written by hand.
func (s *site) guests() []*guest {
	s.t.Helper()
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: s.namespace, Name: name} }
	s.create(&corev1.Secret{ObjectMeta: meta("ignition"), StringData: map[string]string{"ignition": `{"ignition":{"version":"3.4.0"}}`}})
	configured := &guest{name: "configured", uuid: "5e1f0000-0000-4000-8000-0000000000c1", address: "127.99.0.1",
		config: &metalv1.ServerBootConfiguration{}, conditions: []string{bootv1.ConditionIPXEScriptFetched, bootv1.ConditionIgnitionDataFetched}}
	script := &guest{name: "script", uuid: "5e1f0000-0000-4000-8000-0000000000c2", address: "127.99.0.2", config: &bootv1.IPXEBootConfig{},
		conditions: []string{bootv1.ConditionIPXEScriptFetched, bootv1.ConditionIPXEScriptDelivered, bootv1.ConditionIgnitionDataFetched, bootv1.ConditionIgnitionDataDelivered}}
	uki := &guest{name: "uki", uuid: "5e1f0000-0000-4000-8000-0000000000c3", address: "127.99.0.3", config: &bootv1.HTTPBootConfig{},
		conditions: []string{bootv1.ConditionUKIFetched, bootv1.ConditionIgnitionDataFetched, bootv1.ConditionIgnitionDataDelivered}}
	for _, g := range []*guest{configured, script} {
		g.fetches = []string{"/ipxe/" + g.uuid, "/ignition/" + g.uuid}
	}
	for _, g := range []*guest{configured, script, uki} {
		server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: g.name}}
		server.Spec.SystemUUID = g.uuid
		if g == configured {
			server.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: s.namespace, Name: g.name}
		}
		s.create(server)
	}
	theirs := &metalv1.ServerBootConfiguration{ObjectMeta: meta(configured.name)}
	theirs.Spec.ServerRef.Name, theirs.Spec.Image = configured.name, s.registry.Reference("both", "1")
	theirs.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{Name: "ignition"}
	byHand := &bootv1.IPXEBootConfig{ObjectMeta: meta(script.name)}
	byHand.Spec.SystemUUID, byHand.Spec.KernelURL, byHand.Spec.InitrdURL = script.uuid, "http://192.0.2.1/kernel", "http://192.0.2.1/initrd"
	byHand.Spec.IgnitionSecretRef = &bootv1.LocalObjectReference{Name: "ignition"}
	s.create(theirs, byHand)
	var made bootv1.HTTPBootConfig
	eventually(s.t, "the image is resolved", func() error {
		if err := s.Get(s.t.Context(), client.ObjectKeyFromObject(theirs), &made); err != nil {
			return err
		}
		if made.Spec.UKIURL == "" {
			return errors.New("no URL of a UKI")
		}
		return nil
	})
	http := &bootv1.HTTPBootConfig{ObjectMeta: meta(uki.name)}
	http.Spec.SystemUUID, http.Spec.NetworkIdentifiers, http.Spec.UKIURL = uki.uuid, []string{uki.address}, made.Spec.UKIURL
	http.Spec.IgnitionSecretRef = &bootv1.LocalObjectReference{Name: "ignition"}
	s.create(http)
	uki.fetches = []string{"/httpboot", made.Spec.UKIURL[len(s.boot()):], "/ignition/" + uki.uuid}
	return []*guest{configured, script, uki}
}

// switched is what the other lifecycle says of a machine.
func (s *site) switched(g *guest, power metalv1.PowerState) {
	s.t.Helper()
	server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: g.name}}
	patch := fmt.Sprintf(`{"status":{"powerState":%q}}`, power)
	if err := s.Status().Patch(s.t.Context(), server, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		s.t.Fatal(err)
	}
}

// get asks from the machine's own address.
func (g *guest) get(ctx context.Context, url string) error {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(g.address)}}
	client := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %w", response.Status, err)
	}
	return nil
}

func conditionsOf(obj client.Object) []metav1.Condition {
	switch o := obj.(type) {
	case *metalv1.ServerBootConfiguration:
		return o.Status.Conditions
	case *bootv1.IPXEBootConfig:
		return o.Status.Conditions
	case *bootv1.HTTPBootConfig:
		return o.Status.Conditions
	}
	return nil
}

// are waits until all conditions of a machine's deliveries are so.
func (s *site) are(g *guest, boot int, status metav1.ConditionStatus, reason string) {
	s.t.Helper()
	key := client.ObjectKey{Namespace: s.namespace, Name: g.name}
	eventually(s.t, fmt.Sprintf("boot %d of %s", boot, g.name), func() error {
		if err := s.Get(s.t.Context(), key, g.config); err != nil {
			return err
		}
		for _, kind := range g.conditions {
			c := apimeta.FindStatusCondition(conditionsOf(g.config), kind)
			if c == nil || c.Status != status || c.Reason != reason {
				return fmt.Errorf("%s is %+v, want %s", kind, c, status)
			}
		}
		return nil
	})
}

// transitions counts how often each condition of each boot config became true.
type transitions struct {
	mu    sync.Mutex
	count map[[2]string]int
	is    map[[2]string]metav1.ConditionStatus
}

func (c *transitions) of(name, kind string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count[[2]string{name, kind}]
}

func (c *transitions) see(obj client.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, condition := range conditionsOf(obj) {
		key := [2]string{obj.GetName(), condition.Type}
		if condition.Status == metav1.ConditionTrue && c.is[key] != metav1.ConditionTrue {
			c.count[key]++
		}
		c.is[key] = condition.Status
	}
}

func (s *site) countTransitions() *transitions {
	s.t.Helper()
	watcher, err := client.NewWithWatch(s.api.RESTConfig(), client.Options{Scheme: s.Scheme()})
	if err != nil {
		s.t.Fatal(err)
	}
	c := &transitions{count: map[[2]string]int{}, is: map[[2]string]metav1.ConditionStatus{}}
	for _, list := range []client.ObjectList{&metalv1.ServerBootConfigurationList{}, &bootv1.IPXEBootConfigList{}, &bootv1.HTTPBootConfigList{}} {
		w, err := watcher.Watch(s.t.Context(), list, client.InNamespace(s.namespace))
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(w.Stop)
		go func(events <-chan watch.Event) {
			for e := range events {
				obj, ok := e.Object.(client.Object)
				_, ofConfigured := obj.(*metalv1.ServerBootConfiguration)
				// The children of a boot configuration have its name; it is the one that is counted.
				if ok && (obj.GetName() == "configured") == ofConfigured {
					c.see(obj)
				}
			}
		}(w.ResultChan())
	}
	return c
}

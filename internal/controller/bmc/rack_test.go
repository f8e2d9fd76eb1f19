package bmc

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/sim"
)

const marker = "marker-password-5"

var vendors = []sim.Vendor{sim.Standard, sim.Dell, sim.HPE, sim.Lenovo, sim.Supermicro, sim.AMI}

// site is a simulated rack, one BMC a vendor, with a real fleet. Only the API is a fake.
type site struct {
	*Reconciler
	t      *testing.T
	api    *controllertest.API
	rack   *sim.Rack
	events *events.FakeRecorder
	woken  chan struct{}
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, api: controllertest.NewAPI(t), events: events.NewFakeRecorder(1000), woken: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var err error
	s.rack, err = sim.Start(ctx, sim.Options{
		Servers: len(vendors), Vendors: vendors, Username: "admin", Password: marker, Seed: 1,
		BootURL: func() string { return "http://127.0.0.1:1/ipxe/" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if err := s.rack.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	f := fleet.New(fleet.Options{FastPoll: 10 * time.Millisecond, RequestTimeout: 20 * time.Second})
	f.Subscribe(func(fleet.Key) { s.wake() })
	s.Reconciler = &Reconciler{
		Client: s.api, APIReader: s.api, Namespace: "farrier", Fleet: f, Registry: connection.NewRegistry(f), Recorder: s.events, Clock: clock.RealClock{},
	}
	for _, info := range s.rack.BMCs() {
		b := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: info.Name}}
		b.Spec.Access = &metalv1.InlineEndpoint{IP: info.IP.String()}
		b.Spec.Protocol = metalv1.Protocol{Name: metalv1.ProtocolRedfish, Scheme: metalv1.SchemeHTTP, Port: int32(info.Port)}
		b.Spec.BMCSecretRef.Name = info.Name
		s.api.Add(t, b)
		s.api.Add(t, &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: info.Name}, Data: map[string][]byte{"username": []byte("admin"), "password": []byte(marker)}})
	}
	running.Go(func() { _ = f.Run(ctx) })
	return s
}

func (s *site) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// until reconciles a BMC whenever an observation has changed, until ok.
func (s *site) until(name, what string, ok func(*metalv1.BMC) bool) *metalv1.BMC {
	s.t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		s.api.Settle(s.t, s.Reconciler, name)
		b := controllertest.Read[metalv1.BMC](s.t, s.api, name)
		if ok(b) {
			return b
		}
		select {
		case <-s.woken:
		case <-tick.C:
		case <-deadline:
			s.t.Fatalf("%s: %s: not within a minute; conditions %+v", name, what, b.Status.Conditions)
		}
	}
}

func is(kind string, status metav1.ConditionStatus) func(*metalv1.BMC) bool {
	return func(b *metalv1.BMC) bool {
		for _, c := range b.Status.Conditions {
			if c.Type == kind {
				return c.Status == status
			}
		}
		return false
	}
}

// opens reports whether the BMC lets somebody in with a password.
func (s *site) opens(i int, password string) bool {
	s.t.Helper()
	info := s.rack.BMCs()[i]
	credentials := bmc.Credentials{Username: "admin", Password: bmc.Secret(password)}
	c := bmc.NewClient(bmc.Endpoint{Scheme: "http", Host: info.IP.String(), Port: info.Port}, credentials, bmc.Options{})
	defer func() { _ = c.Close(s.t.Context()) }()
	_, err := c.SystemURIs(s.t.Context())
	if err != nil && bmc.KindOf(err) != bmc.KindAuthentication {
		s.t.Fatal(err)
	}
	return err == nil
}

// TestRotationAtEveryVendor: each has other rules for passwords and other ways to change one.
func TestRotationAtEveryVendor(t *testing.T) {
	s := newSite(t)
	for i, info := range s.rack.BMCs() {
		s.until(info.Name, "answers", is(metalv1.ConditionReady, metav1.ConditionTrue))
		controllertest.Change(t, s.api, info.Name, func(b *metalv1.BMC) {
			metav1.SetMetaDataAnnotation(&b.ObjectMeta, metalv1.AnnotationOperation, metalv1.OperationRotateCredentials)
		})
		b := s.until(info.Name, "has a new password", is(metalv1.ConditionRotated, metav1.ConditionTrue))
		secret := controllertest.Read[metalv1.BMCSecret](t, s.api, info.Name)
		password := string(secret.Data["password"])
		if password == marker || len(secret.Data) != 2 || s.opens(i, marker) || !s.opens(i, password) {
			t.Errorf("%s (%s): new: %v, keys: %d", info.Name, info.Vendor, password != marker, len(secret.Data))
		}
		s.Fleet.Refresh(fleet.Key(info.URL()))
		s.until(info.Name, "answers still", is(metalv1.ConditionReady, metav1.ConditionTrue))
		for _, text := range append(s.told(), fmt.Sprint(b)) {
			if strings.Contains(text, password) || strings.Contains(text, marker) {
				t.Errorf("%s: a password is told: %s", info.Name, text)
			}
		}
	}
}

func (s *site) told() (all []string) {
	for {
		select {
		case e := <-s.events.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

package claim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/readcache"
)

// stand is the controller without a manager: it plays the informer and the matcher before each step.
type stand struct {
	*Reconciler
	clock *clocktesting.FakeClock
	cache *cache
	knows map[string]bool
	told  *told
}

// cache is what the controller reads through: a test may replace it by one that lags.
type cache struct{ client.Client }

// told collects events: "<kind> <name>: <type> <reason> <note>".
type told struct{ events []string }

func (e *told) Eventf(about, _ runtime.Object, kind, reason, _, note string, args ...any) {
	obj := about.(client.Object)
	e.events = append(e.events, fmt.Sprintf("%s %s: %s %s %s", strings.TrimPrefix(keyOf(obj).kind, "*v1alpha1."), obj.GetName(), kind, reason, fmt.Sprintf(note, args...)))
}

// hears returns the events since it was asked last.
func (s *stand) hears() []string {
	events := s.told.events
	s.told.events = nil
	return events
}

func newReconciler(api *controllertest.API) *stand {
	s := &stand{clock: api.Clock, cache: &cache{api}, knows: map[string]bool{}, told: &told{}}
	s.Reconciler = &Reconciler{Client: readcache.New(api, api).Client(s.cache), APIReader: api, Clock: api.Clock, Recorder: s.told}
	s.begin()
	return s
}

// inform tells the pool what the cache shows.
func (s *stand) inform(ctx context.Context) error {
	var servers metalv1.ServerList
	if err := s.List(ctx, &servers); err != nil {
		return err
	}
	shown := map[string]bool{}
	for i := range servers.Items {
		shown[servers.Items[i].Name] = true
		s.pool.Observe(&servers.Items[i])
	}
	for name := range s.knows {
		if !shown[name] {
			s.pool.Forget(name)
		}
	}
	s.knows = shown
	return nil
}

// Reconcile is a reconcile, and another where the first put the claim among those that the matcher then
// found something for, or nothing.
func (s *stand) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if err := s.inform(ctx); err != nil {
		return reconcile.Result{}, err
	}
	result, err := s.Reconciler.Reconcile(ctx, req)
	if err == nil && slices.Contains(s.matcher.match(), req.NamespacedName) {
		return s.Reconciler.Reconcile(ctx, req)
	}
	return result, err
}

// becomesFree says of a Server that it can be claimed, as its controller does.
func becomesFree(s *metalv1.Server) {
	s.Status.State, s.Status.PowerState = metalv1.ServerStateAvailable, metalv1.PowerStateOff
	s.Status.Conditions = []metav1.Condition{{
		Type: metalv1.ConditionClaimable, Status: metav1.ConditionTrue, Reason: metalv1.ReasonClaimable, LastTransitionTime: metav1.NewTime(controllertest.Start),
	}}
}

// inDiscovery says of a Server that it is not Available yet.
func inDiscovery(s *metalv1.Server) {
	s.Status.State, s.Status.Conditions = metalv1.ServerStateDiscovery, nil
}

// free is a Server that can be claimed.
func free(name string, change ...func(*metalv1.Server)) *metalv1.Server {
	s := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"size": "m"}}}
	s.Spec.SystemUUID = "00000000-0000-0000-0000-000000000001"
	becomesFree(s)
	for _, c := range change {
		c(s)
	}
	return s
}

func newClaim(name string, change ...func(*metalv1.ServerClaim)) *metalv1.ServerClaim {
	c := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	c.Spec.Image, c.Spec.Power = "registry/os:1", metalv1.PowerOn
	for _, f := range change {
		f(c)
	}
	return c
}

func wants(server string) func(*metalv1.ServerClaim) {
	return func(c *metalv1.ServerClaim) { c.Spec.ServerRef = &metalv1.LocalObjectReference{Name: server} }
}

func readClaim(t *testing.T, api *controllertest.API, name string) *metalv1.ServerClaim {
	t.Helper()
	return controllertest.Read[metalv1.ServerClaim](t, api, "ns/"+name)
}

func readServer(t *testing.T, api *controllertest.API, name string) *metalv1.Server {
	t.Helper()
	return controllertest.Read[metalv1.Server](t, api, name)
}

// checkBound checks everything that makes a claim and a server each other's.
func checkBound(t *testing.T, api *controllertest.API, name, server string) {
	t.Helper()
	c, s := readClaim(t, api, name), readServer(t, api, server)
	controllertest.Says(t, c.Status.Conditions, metalv1.ConditionBound, metav1.ConditionTrue, metalv1.ReasonAllocated, server)
	if c.Status.Phase != metalv1.ServerClaimPhaseBound || c.Spec.ServerRef == nil || c.Spec.ServerRef.Name != server {
		t.Errorf("claim %s: phase %s, serverRef %v", name, c.Status.Phase, c.Spec.ServerRef)
	}
	if ref := s.Spec.ServerClaimRef; ref == nil || ref.Namespace != "ns" || ref.Name != name {
		t.Errorf("server %s: serverClaimRef %v", server, ref)
	}
	if ref := s.Spec.BootConfigurationRef; ref == nil || ref.Namespace != "ns" || ref.Name != name {
		t.Errorf("server %s: bootConfigurationRef %v", server, ref)
	}
	if owner := s.Annotations[metalv1.AnnotationClaimedBy]; owner != string(c.UID) {
		t.Errorf("server %s is marked with %q, the claim is %q", server, owner, c.UID)
	}
}

// checkUnbound checks that a claim has nothing, and says why.
func checkUnbound(t *testing.T, api *controllertest.API, name, reason string, says ...string) {
	t.Helper()
	c := readClaim(t, api, name)
	controllertest.Says(t, c.Status.Conditions, metalv1.ConditionBound, metav1.ConditionFalse, reason, says...)
	if c.Status.Phase != metalv1.ServerClaimPhaseUnbound {
		t.Errorf("claim %s: phase %s", name, c.Status.Phase)
	}
	var servers metalv1.ServerList
	if err := api.List(t.Context(), &servers); err != nil {
		t.Fatal(err)
	}
	for _, s := range servers.Items {
		if s.Annotations[metalv1.AnnotationClaimedBy] == string(c.UID) {
			t.Errorf("and it has %s", s.Name)
		}
	}
}

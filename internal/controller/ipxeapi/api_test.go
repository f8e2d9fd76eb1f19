package ipxeapi_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/ipxeapi"
	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/content"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// patience is how long is waited for what takes milliseconds on a machine that is not busy.
const patience = time.Minute

// startControllers runs both controllers against the real API for one namespace.
func startControllers(t *testing.T, namespace string) (ctrl.Manager, *profile.View) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), metalv1.AddToScheme(scheme), bootv1.AddToScheme(scheme), ipxev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	yes := true
	mgr, err := ctrl.NewManager(testapi.Start(t), ctrl.Options{
		Scheme: scheme, Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"}, Controller: ctrlconfig.Controller{SkipNameValidation: &yes},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := index.Register(ctx, mgr.GetFieldIndexer()); err != nil {
		t.Fatal(err)
	}
	view := profile.NewView(clock.RealClock{}, nil)
	initial := ipxeapi.NewInitial(view, mgr.GetCache())
	serves := func(_ context.Context, n string) (assignment.Grant, error) {
		return assignment.Grant{Operator: n == namespace}, nil
	}
	webhooks := content.NewResolver(content.Options{MaxBytes: profile.MaxConfig, Clock: clock.RealClock{}})
	profiles := &ipxeapi.Profiles{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), View: view, Webhooks: webhooks, Key: []byte("key"), Grants: serves,
		ConfigMaps: mgr.GetCache(), Initial: initial, Workers: 2,
	}
	assignments := &ipxeapi.Assignments{Client: mgr.GetClient(), View: view, Grants: serves, Initial: initial, Workers: 2}
	if err := errors.Join(profiles.SetupWithManager(mgr), assignments.SetupWithManager(mgr), mgr.Add(initial)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return mgr, view
}

// until asks for a machine's script until it says what is wanted; empty: until there is none.
func until(t *testing.T, view *profile.View, query, want string) {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	subject, err := assignment.NewSubject(values)
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	started := time.Now()
	for {
		script, err := view.Script(subject, "http://boot.example")
		if want == "" && err != nil && view.Synced() || want != "" && strings.Contains(string(script.Body), want) {
			t.Logf("%s: %q after %s", query, want, time.Since(started).Round(time.Millisecond))
			return
		}
		if time.Since(started) > patience {
			t.Fatalf("%s: want %q, got %q, %v", query, want, script.Body, err)
		}
		<-tick.C
	}
}

func TestOnARealAPI(t *testing.T) {
	namespace := testapi.Namespace(t)
	mgr, view := startControllers(t, namespace)
	ctx, c := t.Context(), mgr.GetClient()
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	const uuid = "uuid=4c4c4544-0043-3510-8052-b7c04f4e4d01"
	text := &corev1.ConfigMap{ObjectMeta: meta("text"), Data: map[string]string{"k": "one"}}
	p := &ipxev1.Profile{ObjectMeta: meta("p"), Spec: ipxev1.ProfileSpec{IPXE: "#!ipxe\necho {{ text }}\n", AdditionalContent: []ipxev1.AdditionalContent{
		{Name: "text", ConfigMapRef: &ipxev1.KeyReference{Name: "text", Key: "k"}},
	}}}
	p.Labels = map[string]string{"assignment/ipxe-buildarch": "arm64"}
	// There is no admission that would repair the key.
	a := &ipxev1.Assignment{ObjectMeta: meta("a"), Spec: ipxev1.AssignmentSpec{
		SubjectSelector: map[string]string{"uuid": "4C4C4544-0043-3510-8052-B7C04F4E4D01"}, ProfileSelectors: map[string]string{"assignment/ipxe/buildarch": "arm64"},
	}}
	for _, obj := range []client.Object{text, p, a} {
		if err := c.Create(ctx, obj); err != nil {
			t.Fatal(err)
		}
	}
	until(t, view, uuid, "echo one")
	text.Data["k"] = "two"
	if err := c.Update(ctx, text); err != nil {
		t.Fatal(err)
	}
	until(t, view, uuid, "echo two")
	if err := c.Delete(ctx, a); err != nil {
		t.Fatal(err)
	}
	until(t, view, uuid, "")
}

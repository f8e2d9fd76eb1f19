package move_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
	"github.com/farrier-dev/farrier/internal/move"
	"github.com/farrier-dev/farrier/internal/system"
)

// sideOf is a real API as a side.
func sideOf(t *testing.T, process *testapi.Process, name string) move.Side {
	t.Helper()
	config := process.RESTConfig()
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: system.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	resources, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return move.Side{Client: client.WithFieldValidation(c, metav1.FieldValidationStrict), Discovery: resources, Name: name}
}

// TestBetweenAPIs: two real APIs, whose schemas, garbage collectors and field owners have their say.
func TestBetweenAPIs(t *testing.T) {
	source, target := sideOf(t, testapi.StartWith(t), "source"), sideOf(t, testapi.StartWith(t), "target")
	(&estate{t, source.Client}).settle()
	(&estate{t, target.Client}).namespace()
	w := &world{t: t}
	o := w.optionsOf(source, target)

	dry := o
	dry.DryRun = true
	if err := move.Run(t.Context(), dry); err != nil {
		t.Fatal(err)
	}
	plan := strings.Join(w.said, "\n")
	for _, pair := range [][2]string{
		{"move ServerClaim team/web", "move ServerBootConfiguration team/web"}, {"move ServerBootConfiguration team/web", "move IPXEBootConfig team/web"},
		{"move ServerBootConfiguration team/web", "move Server server-1"}, {"move Assignment team/zz-first", "move Assignment team/aa-second"}, {"copy Secret team/web", "move ServerClaim team/web"},
	} {
		before, after := strings.Index(plan, pair[0]), strings.Index(plan, pair[1])
		if before < 0 || after < before {
			t.Errorf("%q does not come before %q:\n%s", pair[0], pair[1], plan)
		}
	}
	var servers metalv1.ServerList
	if err := target.List(t.Context(), &servers); err != nil || len(servers.Items) > 0 {
		t.Fatalf("a dry run made %d servers: %v", len(servers.Items), err)
	}

	var before metalv1.BMCSecret
	if err := source.Get(t.Context(), client.ObjectKey{Name: "bmc-1"}, &before); err != nil {
		t.Fatal(err)
	}
	if err := move.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	var claim metalv1.ServerClaim
	var config metalv1.ServerBootConfiguration
	var ipxe bootv1.IPXEBootConfig
	var server metalv1.Server
	var secret metalv1.BMCSecret
	for obj, key := range map[client.Object]client.ObjectKey{
		&claim: {Namespace: "team", Name: "web"}, &config: {Namespace: "team", Name: "web"}, &ipxe: {Namespace: "team", Name: "web"},
		&server: {Name: "server-1"}, &secret: {Name: "bmc-1"},
	} {
		if err := target.Get(t.Context(), key, obj); err != nil {
			t.Fatal(err)
		}
	}
	if !metav1.IsControlledBy(&config, &claim) || !metav1.IsControlledBy(&ipxe, &config) {
		t.Errorf("owners: %v, %v", config.OwnerReferences, ipxe.OwnerReferences)
	}
	if server.Annotations[metalv1.AnnotationClaimedBy] != string(claim.UID) || server.Status.State != metalv1.ServerStateReserved || len(server.Finalizers) != 1 {
		t.Errorf("server: %v, %s, %v", server.Annotations, server.Status.State, server.Finalizers)
	}
	if config.Status.ObservedGeneration != config.Generation {
		t.Errorf("the boot configuration has generation %d, and %d was seen", config.Generation, config.Status.ObservedGeneration)
	}
	if len(secret.ManagedFields) == 0 || secret.ManagedFields[0].Manager != before.ManagedFields[0].Manager {
		t.Errorf("field owners: %v, and were %v", secret.ManagedFields, before.ManagedFields)
	}
	if err := source.List(t.Context(), &servers); err != nil || len(servers.Items) > 0 {
		t.Errorf("%d servers are still at the source: %v", len(servers.Items), err)
	}
}

package inquiry

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/diagnosis"
	"github.com/farrier-dev/farrier/internal/logbook"
)

const (
	uuid    = "4c4c4544-0043-3510-8052-b7c04f4e4d32"
	mac     = "52:54:00:12:34:56"
	bmcMAC  = "02:00:00:00:00:07"
	strange = "52:54:00:aa:bb:cc"
)

// rack is a claimed server with its BMC, and a claim that has none.
func rack() []client.Object {
	server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "node-7"}}
	server.Spec.SystemUUID, server.Spec.BMCRef = uuid, &metalv1.LocalObjectReference{Name: "bmc-7"}
	server.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "default", Name: "web"}
	server.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: "default", Name: "web"}
	server.Status.NetworkInterfaces = []metalv1.NetworkInterface{{MACAddress: mac}}
	bmc := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: "bmc-7"}}
	bmc.Status.MACAddress = bmcMAC
	claim := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	claim.Spec.ServerRef = &metalv1.LocalObjectReference{Name: "node-7"}
	boot := &metalv1.ServerBootConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	return []client.Object{server, bmc, claim, boot, &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "waits"}}}
}

// source asks an API with those objects, and an operator address that remembers nothing but a machine that nobody knows.
func source(t *testing.T, objects ...client.Object) Source {
	return Source{
		API: controllertest.NewAPI(t, objects...), Manager: "farrier-system", Namespace: "default", Key: []byte("key"),
		Boots: func(context.Context, string) (operator.Boots, error) { return operator.Boots{}, nil },
		Unknown: func(context.Context) ([]operator.UnknownMachine, error) {
			return []bootview.UnknownMachine{{MAC: strange}}, nil
		},
		Logbook: func(context.Context, string) ([]logbook.Entry, error) { return nil, nil },
	}
}

// TestRead: by whatever name somebody asks, the facts are those of what has it, and of what it depends on.
func TestRead(t *testing.T) {
	for asked, want := range map[string]string{
		"node-7":              "Server BMC claim config",
		strings.ToUpper(uuid): "Server BMC claim config",
		mac:                   "Server BMC claim config",
		"web":                 "Server BMC claim config",
		"default/web":         "Server BMC claim config",
		"other/waits":         "claim servers",
		"bmc-7":               "BMC",
		bmcMAC:                "BMC",
		strange:               "unknown",
	} {
		facts, err := source(t, rack()...).Read(t.Context(), asked)
		if err != nil {
			t.Errorf("%s: %v", asked, err)
			continue
		}
		if got := has(facts); got != want || len(facts.NotRead) > 0 {
			t.Errorf("%s: %q, want %q; not read: %q", asked, got, want, facts.NotRead)
		}
	}
	if _, err := source(t, rack()...).Read(t.Context(), "nobody"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// has names what is known.
func has(f *diagnosis.Facts) string {
	var known []string
	for _, fact := range []struct {
		name  string
		there bool
	}{
		{"Server", f.Server != nil}, {"BMC", f.BMC != nil}, {"claim", f.Claim != nil}, {"config", f.Config != nil},
		{"unknown", len(f.Unknown) > 0}, {"servers", f.Claim != nil && f.Server == nil && f.Servers != nil},
	} {
		if fact.there {
			known = append(known, fact.name)
		}
	}
	return strings.Join(known, " ")
}

// TestWhatCannotBeReadIsSaid: the rest is found all the same.
func TestWhatCannotBeReadIsSaid(t *testing.T) {
	s := source(t, rack()...)
	s.Boots = func(context.Context, string) (operator.Boots, error) {
		return operator.Boots{}, errors.New("nobody answers")
	}
	s.Logbook = func(context.Context, string) ([]logbook.Entry, error) { return nil, errors.New("nobody answers") }
	facts, err := s.Read(t.Context(), "node-7")
	if err != nil || facts.BMC == nil || len(facts.NotRead) != 2 {
		t.Errorf("%v, %+v", err, facts)
	}
}

package operator

import (
	"encoding/json"
	"slices"
	"testing"

	"k8s.io/utils/clock"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/logbook"
)

// TestLogbook: by the name of a Server or its UUID, with what is about its machine, its BMC and its claim; and nothing of others.
func TestLogbook(t *testing.T) {
	s := newServer(t)
	server := &metalv1.Server{}
	server.Name, server.Spec.SystemUUID, server.Spec.BMCRef = "node-7", uuid, &metalv1.LocalObjectReference{Name: "bmc-7"}
	server.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "default", Name: "web"}
	b := &metalv1.BMC{}
	b.Name, b.Spec.Access = "bmc-7", &metalv1.InlineEndpoint{IP: "10.0.0.7"}
	beside := b.DeepCopy() // at another port of the same address
	beside.Name, beside.Spec.Protocol.Port = "bmc-8", 8001
	neighbour := &metalv1.Server{}
	neighbour.Name, neighbour.Spec.BMCRef = "node-8", &metalv1.LocalObjectReference{Name: "bmc-8"}
	inline := &metalv1.Server{}
	inline.Name, inline.Spec.BMC = "node-9", &metalv1.BMCAccess{Address: "10.0.0.7", Protocol: metalv1.Protocol{Port: 8002}}
	s.API = reviewing{Client: controllertest.NewAPI(t, server, b, beside, neighbour, inline)}
	s.Logbook = logbook.New(logbook.Options{Clock: clock.RealClock{}})
	for subject, what := range map[string]string{
		logbook.ServerSubject("node-7"): "server", logbook.MachineSubject(uuid): "machine", logbook.BMCSubject("10.0.0.7", 443): "bmc", logbook.ClaimSubject("default", "web"): "claim",
		logbook.BMCSubject("10.0.0.7", 8001): "bmc at 8001", logbook.BMCSubject("10.0.0.7", 8002): "bmc at 8002", logbook.ServerSubject("node-8"): "another", logbook.MachineSubject(other): "stranger",
	} {
		s.Logbook.Write(logbook.Entry{Subject: subject, Kind: logbook.KindState, What: what})
	}
	for path, want := range map[string][]string{
		"/logbook/node-7": {"bmc", "claim", "machine", "server"}, "/logbook/" + uuid: {"bmc", "claim", "machine", "server"},
		"/logbook/node-8": {"another", "bmc at 8001"}, "/logbook/node-9": {"bmc at 8002"}, "/logbook/" + other: {"stranger"}, "/logbook/nobody": nil,
	} {
		w := do(s, "GET", path, reader)
		var entries []logbook.Entry
		if err := json.Unmarshal(w.Body.Bytes(), &entries); err != nil || w.Code != 200 {
			t.Fatalf("%s: %v, %d: %s", path, err, w.Code, w.Body)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.What)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	if w := do(s, "GET", "/logbook/node-7", "guess"); w.Code != 401 {
		t.Errorf("without a token that anybody knows: %d", w.Code)
	}
}

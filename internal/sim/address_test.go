package sim

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
)

// cannotShare is the listener of a system whose loopback has one address.
func cannotShare(context.Context, string) (net.Listener, error) { return nil, errCannotShare }

// TestOneAddress: where one listener cannot answer for all, each BMC has a port of its own, and behind each is another machine.
func TestOneAddress(t *testing.T) {
	rack := startRack(t, Options{Servers: 3, Address: "0.0.0.0:0", listenShared: cannotShare})
	uuids := map[string]bool{}
	for i, b := range rack.BMCs() {
		if b.IP.String() != "127.0.0.1" {
			t.Errorf("%s is at %s", b.Name, b.IP)
		}
		uuid := systemUUID(t, rack, b)
		if uuid != rack.Machine(i).UUID() || uuids[uuid] {
			t.Errorf("%s at port %d says that its machine is %s, want %s", b.Name, b.Port, uuid, rack.Machine(i).UUID())
		}
		uuids[uuid] = true
	}
}

// systemUUID asks a BMC for the UUID of its machine.
func systemUUID(t *testing.T, rack *Rack, b BMCInfo) string {
	t.Helper()
	var system struct{ UUID string }
	var systems struct {
		Members []struct {
			At string `json:"@odata.id"`
		}
	}
	get := func(path string, into any) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.SetBasicAuth(rack.opts.Username, rack.opts.Password)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		if err := json.NewDecoder(answer.Body).Decode(into); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", path, answer.Status, err)
		}
	}
	get("/redfish/v1/Systems", &systems)
	if len(systems.Members) != 1 {
		t.Fatalf("%s has %d systems", b.Name, len(systems.Members))
	}
	get(systems.Members[0].At, &system)
	return system.UUID
}

// TestPortsThatDoNotSuffice: BMCs with ports of their own are refused together, with the ports that they need.
func TestPortsThatDoNotSuffice(t *testing.T) {
	_, err := Start(t.Context(), Options{Servers: 3, Address: "127.0.0.1:65534"})
	if want := `address "127.0.0.1:65534": 3 BMCs need the ports 65534 to 65536, and 65535 is the last one`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestAPortThatIsTaken: the error names the BMC whose port it is.
func TestAPortThatIsTaken(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	if _, err := Start(t.Context(), Options{Servers: 1, Address: taken.Addr().String()}); err == nil || !strings.Contains(err.Error(), "BMC 1 of 1") {
		t.Errorf("a port that is taken: %v", err)
	}
}

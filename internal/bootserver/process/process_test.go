package process

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/test/await"
	"github.com/farrier-dev/farrier/test/loopback"
)

// report is what a probe says first.
const report = `{"systemUUID":"` + uuid + `","data":{"cpus":[]}}`

// TestAMachineBoots: its whole path over HTTP, and everything that comes of it at the manager.
func TestAMachineBoots(t *testing.T) {
	p := newPKI(t)
	m := p.startManager(loopback.Free(p.t), 7, time.Hour)
	m.view.Put(tenants(t, 7))
	b := startBootServer(t, p.options(m.address))
	await.True(t, "the boot of the machine", b.boots)
	ready := b.get("/readyz")
	if ready.status != http.StatusOK {
		t.Errorf("/readyz: %+v", ready)
	}
	epoch, counter, found := strings.Cut(ready.header.Get("Farrier-View-Revision"), "/")
	if !found || epoch == "" || counter == "0" {
		t.Errorf("revision %q", ready.header)
	}
	if a := b.get("/ipxe"); a.status != http.StatusOK || !strings.Contains(a.body, "set ipxe-svc http://boot.example:8082\n") {
		t.Errorf("chainload script: %+v", a)
	}
	if a := b.post("/probe/"+token+"/register", report); a.status != http.StatusCreated {
		t.Errorf("report: %+v", a)
	}
	if a := b.post("/probe/"+token+"/bootstate", `{"systemUUID":"`+uuid+`","booted":true}`); a.status != http.StatusCreated {
		t.Errorf("boot state: %+v", a)
	}
	m.mu.Lock()
	stored := m.stored
	m.mu.Unlock()
	if len(stored) != 2 || stored[0].GetAttempt() != "attempt" || !strings.Contains(string(stored[0].GetRegistration()), `"cpus":[]`) || stored[1].GetBootState() == nil {
		t.Errorf("the manager has stored %v", stored)
	}
	await.True(t, "everything at the manager", func() bool {
		by := m.deliveries()
		return by["Chainload"] > 0 && by["Script"] > 0 && by["Ignition"] > 0 && by["Report"] == 1 && by["BootState"] == 1
	})
	await.True(t, "who boots", func() bool {
		for _, bound := range m.bindings() {
			if bound.GetEntry() == entry && bound.GetAttempt() == "attempt" && bound.GetCaller().GetAddress() == "127.0.0.1" && !bound.GetProven() {
				return true
			}
		}
		return false
	})
}

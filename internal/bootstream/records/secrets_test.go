package records

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

const (
	secretToken    = "the-token-of-a-tenant"
	secretBMCToken = "the-token-of-a-bmc"
	secretPayload  = "the ignition of a tenant"
)

// due is an entry of a machine whose boot is open, or not.
func due(t *testing.T, open bool) bootview.Entry {
	t.Helper()
	a := bootview.Attempt{ID: "1", Token: secretToken, Open: open}
	script, err := bootview.DefaultScript(bootview.DefaultScriptParams{
		BootURL: "http://10.0.0.1", KernelURL: "http://10.0.0.1/kernel", InitrdURL: "http://10.0.0.1/initrd", Attempt: bootview.Attempt{ID: "1", Token: secretToken, Open: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return bootview.Entry{
		Name: "IPXEBootConfig/ns/a", UUID: worldUUIDs[1], Rank: bootview.Current, Script: script, Attempt: a,
		Ignition: &bootview.Ignition{Payload: []byte(secretPayload), ContentType: "application/json"}, Terms: bootview.Terms{BMCToken: secretBMCToken, Server: "server-1"},
	}
}

var allSecrets = []string{secretToken, secretBMCToken, secretPayload}

// TestSecretsOfABootThatIsNotOpenAreNotSent, whatever the entry has: not even for a moment.
func TestSecretsOfABootThatIsNotOpenAreNotSent(t *testing.T) {
	manager, _, w, server, _ := connect(t)
	manager.machines.Put(due(t, true))
	for _, secret := range allSecrets {
		if !bytes.Contains(w.newest["IPXEBootConfig/ns/a"], []byte(secret)) {
			t.Errorf("%q is not in the record of an open boot", secret)
		}
	}
	manager.machines.Put(due(t, false))
	for _, secret := range allSecrets {
		if bytes.Contains(w.newest["IPXEBootConfig/ns/a"], []byte(secret)) {
			t.Errorf("%q is in the record of a boot that is not open", secret)
		}
	}
	m, status := server.machines.ByUUID(worldUUIDs[1])
	if status != bootview.Found || m.Ignition() == nil || !errors.Is(m.Ignition().Err, bootview.ErrIgnitionWithheld) {
		t.Errorf("the boot server has %s, %+v, want to know of ignition that is withheld", status, m)
	}
	if m.Script().HasSecret() || m.Script().IsZero() {
		t.Error("the boot server has no script, or one with a secret")
	}

	// What is never served has no payload either.
	stale := due(t, true)
	stale.Rank = bootview.Stale
	manager.machines.Put(stale)
	if r := w.record(t, stale.Name); r.GetMachine().GetIgnition() != nil || r.GetMachine().GetScript() != nil {
		t.Error("the record of a stale entry has ignition, or a script")
	}
}

// TestTheTextOfAnErrorIsNotSent: it may quote the payload.
func TestTheTextOfAnErrorIsNotSent(t *testing.T) {
	manager, _, w, _, _ := connect(t)
	e := due(t, true)
	e.Ignition = &bootview.Ignition{Err: fmt.Errorf("line 1: %s", secretPayload)}
	manager.machines.Put(e)
	if bytes.Contains(w.newest[e.Name], []byte(secretPayload)) {
		t.Error("the payload is in the record, by way of an error")
	}
}

// TestThePayloadOfAReleasedMachineIsGone from the memory of a boot server: with the record that closes the boot, and with one that deletes it.
func TestThePayloadOfAReleasedMachineIsGone(t *testing.T) {
	for name, release := range map[string]func(*testing.T, end){
		"closed":  func(t *testing.T, m end) { m.machines.Put(due(t, false)) },
		"deleted": func(_ *testing.T, m end) { m.machines.Delete("IPXEBootConfig/ns/a") },
	} {
		t.Run(name, func(t *testing.T) {
			manager, _, _, server, views := connect(t)
			manager.machines.Put(due(t, true))
			other := due(t, true)
			other.Name, other.UUID, other.Attempt.ID, other.Attempt.Token, other.Terms.BMCToken = "IPXEBootConfig/ns/b", worldUUIDs[2], "2", "another", ""
			manager.machines.Put(other)
			func() { // nobody holds the machines any longer when it returns
				one, _ := server.machines.ByUUID(worldUUIDs[1])
				two, _ := server.machines.ByUUID(worldUUIDs[2])
				if one.Ignition() != two.Ignition() {
					t.Fatal("two machines do not share a payload that they have in common")
				}
			}()
			if _, ok := server.machines.ByToken(secretToken); !ok {
				t.Fatal("the token of an open boot leads nowhere")
			}
			release(t, manager)
			if _, ok := server.machines.ByToken(secretToken); ok {
				t.Error("the token is still good")
			}
			if _, ok := server.machines.ByBMCToken(secretBMCToken); ok {
				t.Error("the token of the BMC is still good")
			}
			manager.machines.Delete(other.Name)
			gone := func() bool { runtime.GC(); return views.payloads.len() == 0 }
			for deadline := time.Now().Add(10 * time.Second); !gone(); {
				if time.Now().After(deadline) {
					t.Fatalf("%d payloads are kept", views.payloads.len())
				}
			}
			runtime.KeepAlive(server)
		})
	}
}

// TestSites: what is of one machine goes to its site, and what is of none to all.
func TestSites(t *testing.T) {
	manager, source, w, _, views := connect(t)
	e := due(t, true)
	e.Site = "hall-2"
	manager.machines.Put(e)
	manager.instances.Put(bootview.Instance{Name: "server-1", Site: "hall-2"})
	plan := pinned().Plan
	_ = manager.blobs.Pin("one", registry.Pin{Plan: plan, Site: "hall-2"})
	_ = manager.blobs.Pin("all", registry.Pin{Plan: plan, Site: booturl.EverySite})
	source.SetDefaultUKI("http://uki")
	p, err := profile.Compile(profile.Source{Namespace: "ns", Name: "p", UID: "1", Script: "#!ipxe\n", Version: 3}, idKey)
	if err != nil {
		t.Fatal(err)
	}
	manager.profiles.PutProfile(p)
	for key, want := range map[string]string{
		e.Name: "hall-2", "Instance/server-1": "hall-2", "Image/one": "hall-2", "Image/all": booturl.EverySite, "Settings": booturl.EverySite, "Profile/ns/p": booturl.EverySite,
	} {
		if got, ok := w.sites[key]; !ok || got != want {
			t.Errorf("%s goes to %q, want %q", key, got, want)
		}
	}
	if r := w.record(t, "Profile/ns/p"); r.GetVersion() != 3 {
		t.Errorf("version %d", r.GetVersion())
	}
	if got := views.DefaultUKI(); got != "http://uki" {
		t.Errorf("default UKI %q", got)
	}
	views.Delete("Settings")
	if got := views.DefaultUKI(); got != "" {
		t.Errorf("default UKI %q after the settings are gone", got)
	}
}

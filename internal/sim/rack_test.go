package sim

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestStorm boots a whole rack at once, as after a power cut.
func TestStorm(t *testing.T) {
	const servers = 60
	site := newBootSite(t)
	site.setIgnition(plainIgnition)
	rack := startRack(t, Options{Servers: servers, BootURL: site.bootURL})
	for i := range servers {
		orderNetworkBoot(t, rack.Machine(i))
	}
	for i := range servers {
		r := settled(t, rack.Machine(i))
		if kernel, ok := r.Fetched(WhatKernel); r.Outcome != OutcomeInstalled || !ok || kernel.SHA256 != sha256Hex(site.kernel) {
			t.Errorf("server %d: outcome %q: %s", i, r.Outcome, r.Why)
		}
	}
}

// TestStopEndsEverything stops a rack whose machines are in the middle of things
// and whose BMC hangs.
func TestStopEndsEverything(t *testing.T) {
	site := newBootSite(t)
	site.setIgnition(plainIgnition)
	rack := startRack(t, Options{Servers: 3, BootURL: site.bootURL, Timing: Timing{OSBoot: time.Hour, Shutdown: time.Hour}})
	for i := range 3 {
		orderNetworkBoot(t, rack.Machine(i))
	}
	eventually(t, "a kernel runs", func() bool { return !rack.Machine(0).Record()[0].Kernel.IsZero() })
	if _, err := rack.Machine(0).Reset("GracefulShutdown"); err != nil {
		t.Fatal(err)
	}
	inside := make(chan struct{})
	rack.SetFault(1, FaultFunc(func(*http.Request) Effect {
		close(inside)
		return EffectHang
	}))
	ended := make(chan error, 1)
	go func() {
		resp, err := http.Get(rack.baseURL(1) + rootURI)
		if err == nil {
			_ = resp.Body.Close()
		}
		ended <- err
	}()
	<-inside
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := rack.Stop(ctx); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("a hanging request was answered")
	}
	if _, err := rack.Machine(2).Reset("ForceOff"); err != nil {
		t.Errorf("a machine of a stopped rack: %v", err)
	}
	if _, err := rack.Machine(2).Reset("On"); err != nil || rack.Machine(2).PowerState() != PowerOff {
		t.Errorf("a machine of a stopped rack is %s, %v", rack.Machine(2).PowerState(), err)
	}
}

func TestContextBoundsTheStartOnly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	rack, err := Start(ctx, Options{Servers: 1})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	rack.client(t, 0).want(http.StatusOK, http.MethodGet, systemURI, nil)
	if err := rack.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if resp, err := http.Get(rack.baseURL(0) + rootURI); err == nil {
		_ = resp.Body.Close()
		t.Error("a stopped rack answers")
	}
}

func FuzzBodies(f *testing.F) {
	f.Add(`{"Boot":{"BootSourceOverrideTarget":"Pxe","BootOrder":["Boot0001",1]},"AssetTag":null}`)
	f.Add(`{"Boot":[],"IndicatorLED":{}}`)
	f.Add(`{"Attributes":{"BootRetryCount":3,"QuietBoot":1}}`)
	f.Add(`{"UserName":"","Password":"x","RoleId":"King","Enabled":true}`)
	f.Add(`{"Destination":"http://a/b","Protocol":"Redfish","HttpHeaders":[{"a":"b"}],"Targets":[1]}`)
	rack, err := Start(context.Background(), Options{Servers: len(personalities), Vendors: Vendors()})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = rack.Stop(context.Background()) })
	f.Fuzz(func(t *testing.T, text string) {
		var body object
		if json.Unmarshal([]byte(text), &body) != nil {
			return
		}
		for _, b := range rack.bmcs {
			fuzzWrites(t, b, body)
		}
	})
}

// fuzzWrites gives a body to everything that takes one.
func fuzzWrites(t *testing.T, b *bmc, body object) {
	t.Helper()
	m, admin := b.machines[0], caller{account: b.quirks.adminID, role: roleAdministrator}
	r := httptest.NewRequest(http.MethodPatch, m.biosURI(), nil)
	r.SetPathValue("settings", b.quirks.settings)
	r.SetPathValue("id", "3")
	_ = patchSystem(m, admin, r, body)
	_ = patchSystemSettings(m, admin, r, body)
	_ = patchBiosSettings(m, admin, r, body)
	_ = patchAccount(b, admin, r, body)
	_, _ = postSession(b, admin, r, body)
	_, _ = postSubscription(b, admin, r, body)
	_, _ = b.updateTarget("Update", body, r.URL.Path)
	for _, get := range []func(*Machine, *http.Request) (object, error){getSystem, getBios, getBiosSettings} {
		got, err := get(m, r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(got); err != nil {
			t.Fatal(err)
		}
	}
}

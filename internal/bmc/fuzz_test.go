package bmc

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var bodies = []string{
	`{"@odata.id":"/redfish/v1/Systems/1","UUID":"4C4C4544-0042-3510-8056-B4C04F4E4D32","PowerState":"On","MemorySummary":{"TotalSystemMemoryGiB":64},` +
		`"Boot":{"BootSourceOverrideTarget":"Pxe","BootSourceOverrideTarget@Redfish.AllowableValues":["Pxe"],"BootOrder":["a"]},` +
		`"Actions":{"#ComputerSystem.Reset":{"target":"/x","ResetType@Redfish.AllowableValues":["On"]}},"@Redfish.Settings":{"SettingsObject":{"@odata.id":"/sd"}}}`,
	`{"Members":[{"@odata.id":"/a"},null,1,"/b",{"@odata.id":"http://h/c#d"}],"Members@odata.nextLink":"/next"}`,
	`{"error":{"code":"Base.1.0.GeneralError","@Message.ExtendedInfo":[{"MessageId":"Base.1.0.X","Message":"words"}]}}`,
	`{"Id":"1","CapacityBytes":"1e3","TotalCores":-1,"SpeedMbps":99999999999,"IPv4Addresses":[{"Address":"10.0.0.1"}],"Drives":[{"@odata.id":"/d"}]}`,
	`{"MemorySummary":{"TotalSystemMemoryGiB":1e309},"Devices":[{"CapacityBytes":1e18}]}`,
	`{"Attributes":{"a":1,"b":"x","c":true,"d":null,"e":[1],"f":1e30},"AttributeRegistry":"R","@Redfish.Settings":{"SupportedApplyTimes":["OnReset"],"Messages":[{"Message":"m"}]}}`,
	`{"RegistryEntries":{"Attributes":[{"AttributeName":"a","Type":"Integer","LowerBound":-1,"UpperBound":1e300,"Value":[{"ValueName":"v"}],"MaxLength":3}]}}`,
	`{"@odata.id":"/t","TaskState":"Exception","TaskStatus":"Critical","PercentComplete":50,"Messages":[{"MessageId":"a"},{"Message":"b"}],"JobState":"New"}`,
	`{"Members":[{"Id":"1","Created":"2026-03-01T12:00:00Z","Message":"m"},{"@odata.id":"/e"}],"Members@odata.nextLink":"/p"}`,
	`{"UserName":"u","RoleId":"r","Enabled":"yes","Locked":1,"Ports":{"@odata.id":"/p"},"Ethernet":{"AssociatedMACAddresses":["02:00:00:00:00:01"]},"CurrentSpeedGbps":25}`,
	"\xef\xbb\xbf{}", "[]", "null", `"text"`, "{", "",
}

// FuzzBodies feeds every decoder of this package with every body.
func FuzzBodies(f *testing.F) {
	for _, b := range bodies {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var system systemBody
		if decode(b, &system) == nil {
			s := system.system("/s", "")
			if s.MemoryBytes < 0 {
				t.Errorf("memory of %d bytes", s.MemoryBytes)
			}
			if s.UUID != "" && canonicalUUID(s.UUID) != s.UUID {
				t.Errorf("UUID %q is not canonical", s.UUID)
			}
			for _, path := range []string{s.resetTarget, s.resetInfo, s.Boot.SettingsURI} {
				checkPath(t, path)
			}
			for _, r := range []ResetType{ResetOn, ResetForceOff, ResetGracefulShutdown, ResetPowerCycle} {
				s.NearestReset(r)
			}
			s.Vendor.quirks().bootPatch(s.Boot, BootOverride{Target: BootUEFIHTTP, URI: "x"})
		}
		var list sessionResource
		if decode(b, &list) == nil {
			for _, path := range list.paths() {
				checkPath(t, path)
			}
		}
		var storage storageBody
		var simple simpleStorageBody
		var nic interfaceBody
		var task taskBody
		var bios biosBody
		var registry registryBody
		var log logPage
		var port portBody
		for _, out := range []any{
			&storage, &simple, &nic, &task, &bios, &registry, &log, &port,
			&accountBody{}, &accountServiceBody{}, &updateServiceBody{}, &eventServiceBody{}, &subscriptionBody{}, &adapterBody{}, &driveBody{}, &volumeBody{}, &processorBody{}, &managerBody{}, &systemBody{}, &expandedPage[systemBody]{}, &storageBody{}, &serviceRoot{},
		} {
			_ = decode(b, out)
		}
		for _, d := range simple.storage().Drives {
			if d.CapacityBytes < 0 {
				t.Errorf("capacity of %d bytes", d.CapacityBytes)
			}
		}
		if got := task.task("/t", string(task.State)); got.State == "" || got.Percent < 0 {
			t.Errorf("task %+v", got)
		}
		checkPath(t, taskOf(answer{header: http.Header{}, body: b}).URI)
		_ = registry.registry().Check(bios.Attributes)
		for i := range log.Members {
			log.Members[i].entry("log")
		}
		if port.speed() < 0 {
			t.Errorf("speed %d", port.speed())
		}
		port.mac()
		nic.mac()
		nic.addresses()
		id, message := extendedInfo(b)
		if s := printable(id+message, 200); len(s) > 210 || !utf8.ValidString(s) || strings.ContainsAny(s, "\n\r\x00") {
			t.Errorf("not printable: %q", s)
		}
	})
}

// everything calls what a BMC is asked on occasion.
func everything(ctx context.Context, c *Client) {
	const uri = "/redfish/v1/Systems/1"
	a, _ := c.CreateAccount(ctx, AccountSpec{Username: "u", Password: "p"})
	_ = c.SetPassword(ctx, a, "q")
	_ = c.DeleteAccount(ctx, Account{URI: "/a"})
	_ = c.Verify(ctx, Credentials{})
	_, _ = c.PasswordRules(ctx)
	b, _ := c.BIOS(ctx, uri)
	_, _ = c.PendingBIOS(ctx, b)
	_, _ = c.SetBIOS(ctx, BIOS{URI: "/b"}, map[string]any{"a": 1}, "OnReset")
	_ = c.ResetBIOS(ctx, BIOS{URI: "/b"})
	_, _ = c.AttributeRegistry(ctx, "R")
	_, _ = c.Subscribe(ctx, Subscription{Destination: "http://h/x"})
	_ = c.Unsubscribe(ctx, Subscription{URI: "/s"})
	t, _ := c.SimpleUpdate(ctx, Update{ImageURI: "http://h/x"})
	service, _ := c.UpdateService(ctx)
	_, _ = c.PushUpdate(ctx, service, Update{}, Image{Name: "x", Size: 1, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil }})
	_, _ = c.Task(ctx, "/t"+t.URI)
	_, _ = c.Tasks(ctx)
	_, _ = c.Firmware(ctx)
	_, _ = c.Log(ctx, uri, 10)
	attributes, _ := c.ManagerAttributes(ctx)
	_, _ = c.SetManagerAttributes(ctx, attributes, attributes.Attributes)
	_ = c.ChooseManager(ctx, "00000000-0000-0000-0000-00000000000b")
	_, _ = c.Manager(ctx)
	_ = c.SetIndicator(ctx, System{URI: uri, chassis: uri}, IndicatorLit)
	_, _ = c.ResetManager(ctx, ResetForceRestart)
	_ = c.SetIndicator(ctx, System{URI: uri, indicator: indicatorLED}, IndicatorLit)
	_ = c.SetBootOrder(ctx, System{URI: uri, Boot: BootState{Order: []string{"a", "b"}}}, []string{"b", "a"})
}

// checkPath: whatever a BMC names, only the BMC itself is asked.
func checkPath(t *testing.T, path string) {
	t.Helper()
	if path == "" {
		return
	}
	c := NewClient(Endpoint{Scheme: "http", Host: "bmc.example", Port: 8000}, Credentials{}, Options{Transport: &http.Transport{}})
	r, err := c.request(t.Context(), call{method: http.MethodGet, path: path})
	if err != nil {
		return
	}
	if r.URL.Scheme != "http" || r.URL.Host != "bmc.example:8000" || r.URL.User != nil {
		t.Errorf("path %q leads to %s", path, r.URL)
	}
}

func FuzzResourcePath(f *testing.F) {
	for _, s := range []string{
		"/redfish/v1/Systems/1", "http://elsewhere/redfish", "//elsewhere/x", "@elsewhere/x", "/a?b#c", "/%2f%00", "mailto:a", "/\x00", ":80/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		path, ok := resourcePath(s)
		if ok && !strings.HasPrefix(path, "/") {
			t.Errorf("path %q of %q", path, s)
		}
		checkPath(t, path)
	})
}

// FuzzFileName: a name in a form needs no quoting, whatever the image is called.
func FuzzFileName(f *testing.F) {
	for _, s := range []string{"bios-2.5.0.bin", `C:\tmp\a"b.bin`, "../..", "", "ü\r\nX: y", strings.Repeat("x", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name := fileName(s)
		if name == "" || len(name) > maxFileName || fileName(name) != name || strings.ContainsAny(name, "/\\\"\r\n\x00 ;") {
			t.Errorf("%q of %q", name, s)
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"", "1", "-1", "1e3", "Sun, 01 Mar 2026 12:01:30 GMT", "99999999999"} {
		f.Add(s)
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		if d := retryAfter(s, now); d < 0 {
			t.Errorf("%q: %s", s, d)
		}
	})
}

func FuzzIdentifiers(f *testing.F) {
	for _, s := range []string{"4C4C4544-0042-3510-8056-B4C04F4E4D32", "{4c4c4544004235108056b4c04f4e4d32}", "02-FA-44-00-00-01", "02fa.4400.0001", "ü"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if u := canonicalUUID(s); u != "" && (len(u) != 36 || canonicalUUID(u) != u) {
			t.Errorf("UUID %q of %q", u, s)
		}
		if m := canonicalMAC(s); m != "" && (len(m) != 17 || canonicalMAC(m) != m) {
			t.Errorf("MAC %q of %q", m, s)
		}
		vendorOf(s)
	})
}

// FuzzAnswers sends what a BMC could send as an answer to everything.
func FuzzAnswers(f *testing.F) {
	for _, b := range bodies {
		f.Add(200, "/x", []byte(b))
		f.Add(503, "", []byte(b))
	}
	f.Fuzz(func(t *testing.T, status int, location string, body []byte) {
		if status < 200 || status > 599 || len(body) > 1<<16 {
			return
		}
		n := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n++
			w.Header().Set("X-Auth-Token", "t")
			w.Header().Set("Location", location)
			w.Header().Set("ETag", location)
			w.WriteHeader(status)
			_, _ = w.Write(body)
		}))
		defer s.Close()
		u, _ := url.Parse(s.URL)
		port, _ := strconv.Atoi(u.Port())
		c := NewClient(Endpoint{Scheme: "http", Host: u.Hostname(), Port: port}, Credentials{}, Options{RequestTimeout: 5 * time.Second})
		ctx := t.Context()
		_, _ = c.Systems(ctx)
		_, _ = c.Manager(ctx)
		_, _ = c.Inventory(ctx, "/redfish/v1/Systems/1")
		_ = c.SetBoot(ctx, System{URI: "/redfish/v1/Systems/1"}, BootOverride{Target: BootPXE})
		_ = c.Reset(ctx, System{URI: "/redfish/v1/Systems/1"}, ResetOn)
		everything(ctx, c)
		_ = c.Close(ctx)
		if n > 40*maxMembers {
			t.Errorf("%d requests", n)
		}
	})
}

package bmc

import (
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
			s.Vendor.ways().bootPatch(s.Boot, BootOverride{Target: BootUEFIHTTP, URI: "x"})
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
		for _, out := range []any{
			&storage, &simple, &nic, &driveBody{}, &volumeBody{}, &processorBody{}, &managerBody{}, &inventoryBody{}, &serviceRoot{},
		} {
			_ = decode(b, out)
		}
		for _, d := range simple.storage().Drives {
			if d.CapacityBytes < 0 {
				t.Errorf("capacity of %d bytes", d.CapacityBytes)
			}
		}
		nic.mac()
		nic.addresses()
		id, message := extendedInfo(b)
		if s := printable(id+message, 200); len(s) > 210 || !utf8.ValidString(s) || strings.ContainsAny(s, "\n\r\x00") {
			t.Errorf("not printable: %q", s)
		}
	})
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
		_ = c.Close(ctx)
		if n > 4*maxMembers {
			t.Errorf("%d requests", n)
		}
	})
}

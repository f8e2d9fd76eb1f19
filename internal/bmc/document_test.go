package bmc_test

import (
	"net/http"
	"testing"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
)

func TestDocuments(t *testing.T) {
	const protocol = bmctest.Manager + "/NetworkProtocol"
	s := bmctest.New(t)
	s.Set(protocol, bmctest.Resource{"@odata.id": protocol, "NTP": bmctest.Resource{"ProtocolEnabled": false, "Port": 123}})
	c := client(t, s)
	d, err := c.Document(t.Context(), protocol)
	if err != nil {
		t.Fatal(err)
	}
	if ntp, _ := d.Body["NTP"].(map[string]any); ntp["ProtocolEnabled"] != false || ntp["Port"] != 123.0 || d.Members != nil {
		t.Errorf("document %+v", d)
	}
	if _, err := c.SendDocument(t.Context(), http.MethodPatch, d, map[string]any{"NTP": map[string]any{"ProtocolEnabled": true}}); err != nil {
		t.Fatal(err)
	}
	if n := s.Count("PATCH " + protocol); n != 1 {
		t.Errorf("%d requests", n)
	}
	if d, err = c.Document(t.Context(), "/redfish/v1/Systems"); err != nil || len(d.Members) == 0 {
		t.Errorf("a collection has the members %v: %v", d.Members, err)
	}
	for _, uri := range []string{"", "redfish/v1", "http://other/redfish/v1/Managers/1", "/redfish/v1/Managers/1#/Id"} {
		if _, err := c.Document(t.Context(), uri); bmc.KindOf(err) != bmc.KindUnsupported {
			t.Errorf("%q is read: %v", uri, err)
		}
	}
	for _, refused := range []struct{ method, uri string }{{http.MethodDelete, protocol}, {http.MethodPatch, "/api"}, {http.MethodPatch, "/redfish/v1/../x y"}} {
		if _, err := c.SendDocument(t.Context(), refused.method, bmc.Document{URI: refused.uri}, map[string]any{}); bmc.KindOf(err) != bmc.KindUnsupported {
			t.Errorf("%s %s is sent: %v", refused.method, refused.uri, err)
		}
	}
}

func TestTextsOfAttributes(t *testing.T) {
	for _, tc := range []struct {
		kind, text string
		now        any
		ok         bool
	}{
		{"Integer", "5", int64(5), true}, {"Integer", "five", nil, false}, {"Boolean", "True", true, true}, {"Boolean", "yes", nil, false},
		{"String", "a", "a", true}, {"Enumeration", "Enabled", "Enabled", true},
	} {
		value, err := bmc.Attribute{Type: tc.kind}.Parse(tc.text)
		if (err == nil) != tc.ok || tc.ok && (value != tc.now || !bmc.ShowsAs(tc.now, tc.text)) {
			t.Errorf("%s %q: %v, %v", tc.kind, tc.text, value, err)
		}
	}
	for _, now := range []any{nil, int64(4), "5 ", false} {
		if bmc.ShowsAs(now, "5") {
			t.Errorf("%v shows as 5", now)
		}
	}
	if a, ok := bmc.AttributeRegistry(nil).Find("n", map[string]any{"n": int64(3)}); !ok || a.Type != "Integer" {
		t.Errorf("without a registry: %+v, %v", a, ok)
	}
	if _, ok := (bmc.AttributeRegistry{}).Find("n", map[string]any{"n": int64(3)}); ok {
		t.Error("what the registry does not have is found")
	}
}

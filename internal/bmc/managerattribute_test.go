package bmc_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
)

func TestManagerAttributes(t *testing.T) {
	const idrac, lifecycle = bmctest.Manager + "/Oem/Dell/DellAttributes/iDRAC.Embedded.1", bmctest.Manager + "/Oem/Dell/DellAttributes/LifecycleController.Embedded.1"
	s := bmctest.New(t)
	if _, err := client(t, s).ManagerAttributes(t.Context()); bmc.KindOf(err) != bmc.KindUnsupported {
		t.Errorf("of a BMC that has none: %v", err)
	}
	s.Update(bmctest.Manager, func(r bmctest.Resource) {
		r["Links"] = bmctest.Resource{"Oem": bmctest.Resource{"Dell": bmctest.Resource{"DellAttributes": []any{bmctest.Ref(idrac), bmctest.Ref(lifecycle)}}}}
	})
	s.Set(idrac, bmctest.Resource{
		"@odata.id": idrac, "AttributeRegistry": "ManagerAttributeRegistry.v1_0_0",
		"Attributes": bmctest.Resource{"SysLog.1.Server1": "", "SSH.1.Port": 22, "SSH.1.Enable": "Enabled"},
	})
	s.Set(lifecycle, bmctest.Resource{"@odata.id": lifecycle, "AttributeRegistry": "ManagerAttributeRegistry.v1_0_0", "Attributes": bmctest.Resource{"LCAttributes.1.AutoUpdate": "Disabled"}})
	c := client(t, s)
	m, err := c.ManagerAttributes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"SysLog.1.Server1": "", "SSH.1.Port": int64(22), "SSH.1.Enable": "Enabled", "LCAttributes.1.AutoUpdate": "Disabled"}
	if diff := cmp.Diff(want, m.Attributes); diff != "" || len(m.Registries) != 1 {
		t.Errorf("registries %v, attributes (-want +got):\n%s", m.Registries, diff)
	}
	if _, err := c.SetManagerAttributes(t.Context(), m, map[string]any{"SSH.1.Port": 23, "Typo.1.X": 1}); bmc.KindOf(err) != bmc.KindUnsupported || !strings.Contains(err.Error(), "Typo.1.X") {
		t.Errorf("one that there is not: %v", err)
	}
	if n := s.Count("PATCH " + idrac); n != 0 {
		t.Error("a change with a mistake is sent in part")
	}
	change := map[string]any{"SSH.1.Port": 2222, "SysLog.1.Server1": "192.0.2.7", "LCAttributes.1.AutoUpdate": "Enabled"}
	if _, err := c.SetManagerAttributes(t.Context(), m, change); err != nil {
		t.Fatal(err)
	}
	if a, b := s.Count("PATCH "+idrac), s.Count("PATCH "+lifecycle); a != 1 || b != 1 {
		t.Errorf("%d and %d requests", a, b)
	}
	m, err = c.ManagerAttributes(t.Context())
	if err != nil || m.Attributes["SSH.1.Port"] != int64(2222) || m.Attributes["SSH.1.Enable"] != "Enabled" || m.Attributes["LCAttributes.1.AutoUpdate"] != "Enabled" {
		t.Errorf("%v, %v", m.Attributes, err)
	}
}

package macprefix

import (
	"slices"
	"strings"
	"testing"
)

func TestVendorsThatShip(t *testing.T) {
	for mac, want := range map[string]string{
		"00:14:22:00:00:01": "Dell", "94:18:82:00:00:01": "HPE", "0c:c4:7a:00:00:01": "Supermicro", "0C-C4-7A-00-00-01": "Supermicro",
		"40:8d:5c:00:00:01": "Gigabyte", "02:00:00:00:00:01": "", "": "", "0c": "",
	} {
		if got := Vendor(mac); got != want {
			t.Errorf("%s: %q, want %q", mac, got, want)
		}
	}
	var makers []string
	for prefix, maker := range vendors() {
		if len(prefix) != 6 && len(prefix) != 7 && len(prefix) != 9 || strings.Trim(prefix, "0123456789abcdef") != "" {
			t.Errorf("prefix %q", prefix)
		}
		if !slices.Contains(makers, maker) {
			makers = append(makers, maker)
		}
	}
	if len(makers) != 6 {
		t.Errorf("makers %q", makers)
	}
}

// What the user says comes first, also where it says less.
func TestYoursIsLaidOverThem(t *testing.T) {
	yours, err := New(Entry{Prefix: "94", Manufacturer: "Mine", DefaultCredentials: []Credential{{Username: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	over := yours.OverVendors()
	if over, err = over.With(Entry{Prefix: "02", Manufacturer: "Simulated"}); err != nil {
		t.Fatal(err)
	}
	for mac, want := range map[string]string{"94:18:82:00:00:01": "Mine", "0c:c4:7a:00:00:01": "Supermicro", "02:00:00:00:00:01": "Simulated"} {
		if e, ok := over.Lookup(mac); !ok || e.Manufacturer != want {
			t.Errorf("%s: %+v, %v", mac, e, ok)
		}
	}
	e, _ := over.Lookup("0c:c4:7a:00:00:01")
	if len(e.DefaultCredentials) != 0 || e.Protocol != "Redfish" || e.Port != 443 {
		t.Errorf("what ships is %+v", e)
	}
	if _, ok := yours.Lookup("0c:c4:7a:00:00:01"); ok {
		t.Error("a database that is not laid over them has them")
	}
}

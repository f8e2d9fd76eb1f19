package sim

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

const nicsURI = systemURI + "/EthernetInterfaces"

func expanded(uri, value string) string { return uri + "?$expand=" + url.QueryEscape(value) }

// membersIn are the members of a body, or other things in a list of it.
func membersIn(t *testing.T, body object, name string) []object {
	t.Helper()
	list, ok := body[name].([]any)
	if !ok {
		t.Fatalf("no list %s in %v", name, body)
	}
	var out []object
	for _, m := range list {
		out = append(out, m.(object))
	}
	return out
}

// TestExpandOffersWhatItDoes compares what each make says in its service root with what it answers.
func TestExpandOffersWhatItDoes(t *testing.T) {
	for _, v := range Vendors() {
		t.Run(string(v), func(t *testing.T) {
			rack := startRack(t, Options{Vendors: []Vendor{v}})
			c := rack.client(t, 0)
			root := c.want(http.StatusOK, http.MethodGet, rootURI, nil).body
			says := root["ProtocolFeaturesSupported"].(object)["ExpandQuery"].(object)
			nics := rack.Machine(0).systemURI() + "/EthernetInterfaces"
			for value, feature := range map[string]string{"*": "ExpandAll", "~": "Links", ".": "NoLinks"} {
				want := http.StatusNotImplemented
				if says[feature] == true {
					want = http.StatusOK
				}
				r := c.want(want, http.MethodGet, expanded(nics, value), nil)
				if want != http.StatusOK {
					continue
				}
				for _, m := range membersIn(t, r.body, "Members") {
					own := c.want(http.StatusOK, http.MethodGet, m["@odata.id"].(string), nil).body
					if value == "~" {
						own = object{"@odata.id": own["@odata.id"]}
					}
					if value == "*" {
						own["Links"], m["Links"] = nil, nil
					}
					if diff := cmp.Diff(own, m); diff != "" {
						t.Errorf("%s: member (-own request +expanded):\n%s", value, diff)
					}
				}
			}
			most, _ := says["MaxLevels"].(float64)
			what := "."
			if says["NoLinks"] != true {
				what = "*"
			}
			for levels, want := range map[int]int{1: 200, int(most): 200, int(most) + 1: 400, 0: 400} {
				if says["Levels"] != true {
					want = http.StatusNotImplemented
				}
				c.want(want, http.MethodGet, expanded(rolesURI, fmt.Sprintf("%s($levels=%d)", what, levels)), nil)
			}
		})
	}
}

// TestExpandLevels follows links as far as was asked for.
func TestExpandLevels(t *testing.T) {
	rack := startRack(t, Options{})
	c := rack.client(t, 0)
	storage := systemURI + "/Storage"
	one := membersIn(t, c.want(200, http.MethodGet, expanded(storage, ".($levels=1)"), nil).body, "Members")[0]
	if drive := membersIn(t, one, "Drives")[0]; len(drive) != 1 || one["Id"] != "1" {
		t.Errorf("one level: storage %v with drive %v", one["Id"], drive)
	}
	two := membersIn(t, c.want(200, http.MethodGet, expanded(storage, ".($levels=2)"), nil).body, "Members")[0]
	if drive := membersIn(t, two, "Drives")[0]; drive["SerialNumber"] == nil {
		t.Errorf("two levels: drive %v", drive)
	}
	if volumes := two["Volumes"].(object); volumes["Members"] == nil {
		t.Errorf("two levels: volumes %v", volumes)
	}
	if enclosure := membersIn(t, two["Links"].(object), "Enclosures")[0]; len(enclosure) != 1 {
		t.Errorf("Links were not asked for: %v", enclosure)
	}
	options := c.want(200, http.MethodGet, expanded(systemURI, "."), nil).body["Boot"].(object)["BootOptions"].(object)
	if options["Members"] == nil {
		t.Errorf("a link within an object: %v", options)
	}
	links := c.want(200, http.MethodGet, expanded(systemURI, "~"), nil).body
	if chassis := membersIn(t, links["Links"].(object), "Chassis")[0]; chassis["ChassisType"] == nil || len(links["Bios"].(object)) != 1 {
		t.Errorf("Links alone: chassis %v, BIOS %v", chassis, links["Bios"])
	}
}

// TestExpandRefuses what the standard does not know, and what would never end.
func TestExpandRefuses(t *testing.T) {
	c := startRack(t, Options{}).client(t, 0)
	for value, want := range map[string]string{
		"": "QueryParameterValueFormatError", "Members": "QueryParameterValueFormatError", ".(levels=1)": "QueryParameterValueFormatError",
		".($levels=1": "QueryParameterValueFormatError", ".($levels=x)": "QueryParameterValueFormatError", ".($levels=9)": "QueryParameterOutOfRange",
	} {
		if r := c.want(http.StatusBadRequest, http.MethodGet, expanded(nicsURI, value), nil); r.messageID() != want {
			t.Errorf("%q: %s, want %s", value, r.messageID(), want)
		}
	}
	c.want(http.StatusNotImplemented, http.MethodPatch, expanded(systemURI, "."), object{"AssetTag": "a"})
	c.want(http.StatusNotImplemented, http.MethodGet, expanded("/redfish/v1/odata", "."), nil)
	ami := startRack(t, Options{Vendors: []Vendor{AMI}}).client(t, 0)
	if r := ami.want(http.StatusInsufficientStorage, http.MethodGet, expanded("/redfish/v1/Chassis", "*($levels=5)"), nil); r.messageID() != "InsufficientStorage" {
		t.Errorf("everything: %s", r.messageID())
	}
}

// TestExpandKeepsLinksOfWhatFails: a member that answers with an error stays a link.
func TestExpandKeepsLinksOfWhatFails(t *testing.T) {
	rack := startRack(t, Options{})
	c := rack.client(t, 0)
	rack.inject(t, fault.Spec{Kind: fault.MemberError, Path: "/EthernetInterfaces$"})
	rack.inject(t, fault.Spec{Kind: fault.Hang, Path: "/NIC1$"})
	all := membersIn(t, c.want(200, http.MethodGet, expanded(nicsURI, "."), nil).body, "Members")
	var links []string
	for _, m := range all {
		if len(m) == 1 {
			links = append(links, m["@odata.id"].(string))
		}
	}
	if want := []string{nicsURI + "/NIC1", nicsURI + "/" + faultyMember}; !slices.Equal(links, want) || len(all) <= len(links) {
		t.Errorf("links %v of %d members, want %v", links, len(all), want)
	}
}

// TestExpandLies: each way of not doing what the service root says.
func TestExpandLies(t *testing.T) {
	rack := startRack(t, Options{Vendors: []Vendor{Supermicro}})
	c := rack.client(t, 0)
	plain := membersIn(t, c.want(200, http.MethodGet, nicsURI, nil).body, "Members")
	lie := func(value string, seen func()) {
		t.Helper()
		id := rack.inject(t, fault.Spec{Kind: fault.ExpandLies, Value: value})
		root := c.want(200, http.MethodGet, rootURI, nil).body
		if says := root["ProtocolFeaturesSupported"].(object)["ExpandQuery"].(object); says["ExpandAll"] != true {
			t.Errorf("%s: the service root says %v", value, says)
		}
		seen()
		rack.clear(t, id)
		c.want(http.StatusNotImplemented, http.MethodGet, expanded(nicsURI, "."), nil)
	}
	lie("ignored", func() {
		if diff := cmp.Diff(plain, membersIn(t, c.want(200, http.MethodGet, expanded(nicsURI, "."), nil).body, "Members")); diff != "" {
			t.Errorf("ignored (-plain +expanded):\n%s", diff)
		}
	})
	lie("refused", func() { c.want(http.StatusNotImplemented, http.MethodGet, expanded(nicsURI, "."), nil) })
	lie("cut", func() {
		body := c.want(200, http.MethodGet, expanded(nicsURI, "."), nil).body
		if got := membersIn(t, body, "Members"); len(got) >= len(plain) || body["Members@odata.count"] != float64(len(plain)) {
			t.Errorf("cut: %d members of %v", len(got), body["Members@odata.count"])
		}
	})
	lie("huge", func() {
		body := c.want(200, http.MethodGet, expanded(nicsURI, "."), nil).body
		if oem, _ := body["Oem"].(object); len(fmt.Sprint(oem["Padding"])) < 1<<20 || strings.Trim(fmt.Sprint(oem["Padding"]), "x") != "" {
			t.Errorf("huge: %d bytes", len(fmt.Sprint(oem["Padding"])))
		}
	})
}

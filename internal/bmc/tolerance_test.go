package bmc_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
)

func raw(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

func fails(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

func TestSystemIsReadWithTolerance(t *testing.T) {
	for _, test := range []struct {
		name, body string
		check      func(bmc.System) any
		want       any
	}{
		{"number as text", `{"Id":"1","PowerState":"On","MemorySummary":{"TotalSystemMemoryGiB":"64"}}`, func(s bmc.System) any { return s.MemoryBytes }, int64(64 << 30)},
		{"fraction", `{"@odata.id":"x","MemorySummary":{"TotalSystemMemoryGiB":0.5}}`, func(s bmc.System) any { return s.MemoryBytes }, int64(512 << 20)},
		{"nonsense number", `{"@odata.id":"x","MemorySummary":{"TotalSystemMemoryGiB":1e300}}`, func(s bmc.System) any { return s.MemoryBytes }, int64(0)},
		{"text as number", `{"@odata.id":"x","SerialNumber":12345}`, func(s bmc.System) any { return s.SerialNumber }, "12345"},
		{"null", `{"@odata.id":"x","SerialNumber":null,"Model":"M"}`, func(s bmc.System) any { return s.SerialNumber + s.Model }, "M"},
		{"padded", `{"@odata.id":"x","SerialNumber":"  S  "}`, func(s bmc.System) any { return s.SerialNumber }, "S"},
		{"object where text belongs", `{"@odata.id":"x","Model":{"a":1},"SKU":"K"}`, func(s bmc.System) any { return s.Model + s.SKU }, "K"},
		{"text where an object belongs", `{"@odata.id":"x","Boot":"none","Status":[],"Actions":7,"SKU":"K"}`, func(s bmc.System) any { return s.SKU }, "K"},
		{"no power state", `{"@odata.id":"x"}`, func(s bmc.System) any { return s.PowerState }, bmc.PowerUnknown},
		{"null power state", `{"@odata.id":"x","PowerState":null}`, func(s bmc.System) any { return s.PowerState }, bmc.PowerUnknown},
		{"unknown power state", `{"@odata.id":"x","PowerState":"Reset"}`, func(s bmc.System) any { return s.PowerState }, bmc.PowerUnknown},
		{"power state in capitals", `{"@odata.id":"x","PowerState":"POWERINGON"}`, func(s bmc.System) any { return s.PowerState }, bmc.PowerPoweringOn},
		{"UUID in capitals", `{"@odata.id":"x","UUID":"{4C4C4544-0042-3510-8056-B4C04F4E4D32}"}`, func(s bmc.System) any { return s.UUID }, bmctest.UUID},
		{"UUID without hyphens", `{"@odata.id":"x","UUID":"4C4C454400423510 8056B4C04F4E4D32"}`, func(s bmc.System) any { return s.UUID }, ""},
		{"UUID not set", `{"@odata.id":"x","UUID":"00000000-0000-0000-0000-000000000000"}`, func(s bmc.System) any { return s.UUID }, ""},
		{"UUID not settable", `{"@odata.id":"x","UUID":"FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF"}`, func(s bmc.System) any { return s.UUID }, ""},
		{"new indicator", `{"@odata.id":"x","LocationIndicatorActive":true}`, func(s bmc.System) any { return s.IndicatorLED }, "Blinking"},
		{"no indicator", `{"@odata.id":"x"}`, func(s bmc.System) any { return s.IndicatorLED }, "Unknown"},
		{"byte order mark", "\xef\xbb\xbf {\"@odata.id\":\"x\",\"SKU\":\"K\"}", func(s bmc.System) any { return s.SKU }, "K"},
		{"one value for a list", `{"@odata.id":"x","Boot":{"BootOrder":"Boot0001"}}`, func(s bmc.System) any { return s.Boot.Order }, []string{"Boot0001"}},
		{"ETag in the body", `{"@odata.id":"x","@odata.etag":"W/\"1\""}`, func(s bmc.System) any { return s.ETag }, `W/"1"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := bmctest.New(t)
			s.Handle(getSystem, raw(test.body))
			got, err := client(t, s).System(t.Context(), bmctest.System)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, test.check(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsNoSystem(t *testing.T) {
	for name, body := range map[string]string{
		"truncated": `{"@odata.id":"x","PowerState":"O`, "web page": "<html>Log in</html>", "list": `[]`, "text": `"On"`,
		"empty": "", "other object": `{"result":"ok"}`, "empty object": `{}`, "two objects": `{"@odata.id":"x"}{}`,
	} {
		s := bmctest.New(t)
		s.Handle(getSystem, raw(body))
		if _, err := client(t, s).System(t.Context(), bmctest.System); bmc.KindOf(err) != bmc.KindProtocol {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMembersWithErrorsAreKeptOut(t *testing.T) {
	const second, third = bmctest.Systems + "/2", bmctest.Systems + "/3"
	type handlers = map[string]http.HandlerFunc
	for _, test := range []struct {
		name     string
		handlers handlers
		want     []string
		kind     bmc.Kind
	}{
		{"all well", nil, []string{bmctest.System, second}, ""},
		{"one fails", handlers{getSystem: fails(500)}, []string{second}, ""},
		{"one is no JSON", handlers{"GET " + second: raw("oops")}, []string{bmctest.System}, ""},
		{"all fail", handlers{getSystem: fails(500), "GET " + second: fails(404)}, nil, bmc.KindServer},
		{
			"broken entries of the list",
			handlers{"GET " + bmctest.Systems: raw(`{"Members":[null,7,{"error":{}},{"@odata.id":"nowhere"},"` + second + `"]}`)},
			[]string{second}, "",
		},
		{
			"pages", handlers{
				"GET " + bmctest.Systems: raw(`{"Members":[{"@odata.id":"` + second + `"}],"Members@odata.nextLink":"/page2"}`),
				"GET /page2":             raw(`{"Members":[{"@odata.id":"` + bmctest.System + `"}],"Members@odata.nextLink":"/page3"}`),
				"GET /page3":             raw(`{"Members":[],"Members@odata.nextLink":"/page3"}`),
			},
			[]string{second, bmctest.System}, "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := bmctest.New(t)
			s.Set(bmctest.Systems, bmctest.Collection(bmctest.Systems, bmctest.System, second, third))
			s.Set(second, bmctest.ComputerSystem(second))
			noServer := bmctest.ComputerSystem(third)
			delete(noServer, "Boot")
			s.Set(third, noServer)
			for pattern, h := range test.handlers {
				s.Handle(pattern, h)
			}
			systems, err := client(t, s).Systems(t.Context())
			if got := bmc.KindOf(err); got != test.kind {
				t.Fatalf("error %v", err)
			}
			var got []string
			for _, system := range systems {
				got = append(got, system.URI)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("systems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInventoryWithGaps(t *testing.T) {
	const parts = bmctest.System + "/"
	simple := func(s *bmctest.Server) {
		s.Update(bmctest.System, func(r bmctest.Resource) { r["SimpleStorage"] = bmctest.Ref(parts + "SimpleStorage") })
		s.Set(parts+"SimpleStorage", bmctest.Collection("", parts+"SimpleStorage/1"))
		s.Set(parts+"SimpleStorage/1", bmctest.Resource{"Id": "AHCI", "Name": "SATA", "Devices": []any{
			bmctest.Resource{"Name": "sda", "Model": "D2", "CapacityBytes": "1000"},
		}})
	}
	names := func(i bmc.Inventory) (out []string) {
		for _, s := range i.Storage {
			out = append(out, s.Name)
			for _, d := range s.Drives {
				out = append(out, d.Name)
			}
		}
		return out
	}
	for _, test := range []struct {
		name    string
		change  func(*bmctest.Server)
		storage []string
		missing []string
		kind    bmc.Kind
	}{
		{"all there", simple, []string{"NVMe", "Disk 0"}, nil, ""},
		{"no Storage property", all(simple, func(s *bmctest.Server) {
			s.Update(bmctest.System, func(r bmctest.Resource) { delete(r, "Storage") })
		}), []string{"SATA", "sda"}, nil, ""},
		{"Storage not found", all(simple, func(s *bmctest.Server) { s.Delete(parts + "Storage") }), []string{"SATA", "sda"}, nil, ""},
		{"Storage empty", all(simple, func(s *bmctest.Server) { s.Set(parts+"Storage", bmctest.Collection("")) }), []string{"SATA", "sda"}, nil, ""},
		{"no storage at all", func(s *bmctest.Server) { s.Delete(parts + "Storage") }, nil, nil, ""},
		{"broken storage", func(s *bmctest.Server) { s.Handle("GET "+parts+"Storage", fails(500)) }, nil, []string{"Storage"}, ""},
		{"broken drive", func(s *bmctest.Server) { s.Handle("GET "+parts+"Storage/1/Drives/0", fails(500)) }, []string{"NVMe"}, nil, ""},
		{"empty bay", func(s *bmctest.Server) {
			s.Update(parts+"Storage/1/Drives/0", func(r bmctest.Resource) { r["Status"] = bmctest.Resource{"State": "Absent"} })
		}, []string{"NVMe"}, nil, ""},
		{"broken processors", func(s *bmctest.Server) { s.Handle("GET "+parts+"Processors/1", fails(503)) }, []string{"NVMe", "Disk 0"}, []string{"Processors"}, ""},
		{"connection lost", func(s *bmctest.Server) {
			s.Handle("GET "+parts+"Processors", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		}, nil, nil, bmc.KindConnection},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := bmctest.New(t)
			test.change(s)
			got, err := client(t, s).Inventory(t.Context(), bmctest.System)
			if bmc.KindOf(err) != test.kind {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(test.storage, names(got)); diff != "" {
				t.Errorf("storage (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.missing, got.Missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMemoryIsAddedUpWhereNoSumIsGiven(t *testing.T) {
	s := bmctest.New(t)
	const memory = bmctest.System + "/Memory"
	s.Update(bmctest.System, func(r bmctest.Resource) {
		delete(r, "MemorySummary")
		r["Memory"] = bmctest.Ref(memory)
	})
	s.Set(memory, bmctest.Collection(memory, memory+"/1", memory+"/2"))
	s.Set(memory+"/1", bmctest.Resource{"CapacityMiB": 16384})
	s.Set(memory+"/2", bmctest.Resource{"CapacityMiB": "16384"})
	got, err := client(t, s).Inventory(t.Context(), bmctest.System)
	if err != nil || got.MemoryBytes != 32<<30 {
		t.Errorf("%d bytes, %v", got.MemoryBytes, err)
	}
}

func TestWhichManager(t *testing.T) {
	const enclosure = "/redfish/v1/Managers/0"
	both := func(s *bmctest.Server) {
		s.Set("/redfish/v1/Managers", bmctest.Collection("", enclosure, bmctest.Manager))
		s.Set(enclosure, bmctest.Resource{"@odata.id": enclosure, "ManagerType": "EnclosureManager", "Model": "E"})
	}
	for _, test := range []struct {
		name   string
		change func(*bmctest.Server)
		want   string
		kind   bmc.Kind
	}{
		{"the only one", all(), "BMC 9", ""},
		{"the BMC among several", both, "BMC 9", ""},
		{"the first where none is a BMC", all(both, func(s *bmctest.Server) {
			s.Update(bmctest.Manager, func(r bmctest.Resource) { r["ManagerType"] = "AuxiliaryController" })
		}), "E", ""},
		{"the one the service names", all(both, func(s *bmctest.Server) {
			s.Update(bmctest.Root, func(r bmctest.Resource) {
				r["Links"] = bmctest.Resource{"ManagerProvidingService": bmctest.Ref(enclosure)}
			})
		}), "E", ""},
		{"none", func(s *bmctest.Server) { s.Set("/redfish/v1/Managers", bmctest.Collection("")) }, "", bmc.KindUnsupported},
		{"no interfaces", func(s *bmctest.Server) { s.Delete(bmctest.Manager + "/EthernetInterfaces") }, "BMC 9", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := bmctest.New(t)
			test.change(s)
			got, err := client(t, s).Manager(t.Context())
			if bmc.KindOf(err) != test.kind || got.Model != test.want {
				t.Errorf("%q, %v", got.Model, err)
			}
		})
	}
}

// A chassis with two managers: the UUID says which is meant, whichever the service would choose.
func TestTheManagerThatIsMeant(t *testing.T) {
	const second, uuid = "/redfish/v1/Managers/2", "00000000-0000-0000-0000-00000000000b"
	s := bmctest.New(t)
	s.Set("/redfish/v1/Managers", bmctest.Collection("", bmctest.Manager, second))
	s.Set(second, bmctest.Resource{"@odata.id": second, "ManagerType": "BMC", "Model": "Second", "UUID": "00000000-0000-0000-0000-00000000000B"})
	c := client(t, s)
	is := func(want string) {
		t.Helper()
		got, err := c.Manager(t.Context())
		if err != nil || got.Model != want {
			t.Errorf("%q, %v: want %q", got.Model, err, want)
		}
	}
	is("BMC 9")
	choose := func(uuid string) {
		t.Helper()
		if err := c.ChooseManager(t.Context(), uuid); err != nil {
			t.Fatal(err)
		}
	}
	choose(uuid)
	is("Second")
	before := s.Count("GET /redfish/v1/Managers")
	is("Second")
	if n := s.Count("GET /redfish/v1/Managers"); n != before {
		t.Error("a manager that was found is looked for again")
	}
	choose("00000000-0000-0000-0000-00000000000c")
	is("BMC 9") // none has it
	s.Update(second, func(r bmctest.Resource) { r["UUID"] = "00000000-0000-0000-0000-00000000000c" })
	is("Second") // it came
	choose("")
	is("BMC 9")
}

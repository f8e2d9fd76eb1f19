package bmc_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

const (
	patchSystem   = "PATCH " + bmctest.System
	settings      = bmctest.System + "/SD"
	patchSettings = "PATCH " + settings
	manufacturer  = "Manufacturer"
)

// boot changes the Boot object of the standard system.
func boot(s *bmctest.Server, change func(bmctest.Resource)) {
	s.Update(bmctest.System, func(r bmctest.Resource) { change(r["Boot"].(bmctest.Resource)) })
}

func vendor(name string) func(*bmctest.Server) {
	return func(s *bmctest.Server) {
		s.Update(bmctest.System, func(r bmctest.Resource) { r[manufacturer] = name })
	}
}

// all applies several changes.
func all(changes ...func(*bmctest.Server)) func(*bmctest.Server) {
	return func(s *bmctest.Server) {
		for _, c := range changes {
			c(s)
		}
	}
}

func withSettings(s *bmctest.Server) {
	s.Update(bmctest.System, func(r bmctest.Resource) {
		r["@Redfish.Settings"] = bmctest.Resource{"SettingsObject": bmctest.Ref(settings)}
	})
	s.Set(settings, bmctest.Resource{"@odata.id": settings, "Boot": bmctest.Resource{}})
}

func without(property string) func(*bmctest.Server) {
	return func(s *bmctest.Server) { boot(s, func(b bmctest.Resource) { delete(b, property) }) }
}

func with(property string, value any) func(*bmctest.Server) {
	return func(s *bmctest.Server) { boot(s, func(b bmctest.Resource) { b[property] = value }) }
}

func TestSetBoot(t *testing.T) {
	const (
		enabled = "BootSourceOverrideEnabled"
		target  = "BootSourceOverrideTarget"
		mode    = "BootSourceOverrideMode"
		uri     = "http://boot/uki.efi"
	)
	pxe, none := bmc.BootOverride{Target: bmc.BootPXE}, bmc.BootOverride{}
	once := with(enabled, "Once")
	armed := all(once, with(target, "Pxe"))
	type patch = map[string]any
	for _, test := range []struct {
		name     string
		change   func(*bmctest.Server)
		override bmc.BootOverride
		at       string // "METHOD /path" of the change
		want     patch  // nil: no request
		kind     bmc.Kind
	}{
		{"PXE", all(), pxe, patchSystem, patch{enabled: "Once", target: "Pxe", mode: "UEFI"}, ""},
		{"disk", all(), bmc.BootOverride{Target: bmc.BootDisk}, patchSystem, patch{enabled: "Once", target: "Hdd", mode: "UEFI"}, ""},
		{
			"UEFI HTTP", all(), bmc.BootOverride{Target: bmc.BootUEFIHTTP, URI: uri}, patchSystem,
			patch{enabled: "Once", target: "UefiHttp", mode: "UEFI", "HttpBootUri": uri}, "",
		},
		{
			"UEFI HTTP from DHCP", all(), bmc.BootOverride{Target: bmc.BootUEFIHTTP}, patchSystem,
			patch{enabled: "Once", target: "UefiHttp", mode: "UEFI"}, "",
		},
		{"none, none set", all(), none, patchSystem, nil, ""},
		{"none, one set", armed, none, patchSystem, patch{enabled: "Disabled", target: "None"}, ""},
		{"no mode property", without(mode), pxe, patchSystem, patch{enabled: "Once", target: "Pxe"}, ""},
		{
			"mode without UEFI", with(mode+"@Redfish.AllowableValues", []any{"Legacy"}), pxe, patchSystem,
			patch{enabled: "Once", target: "Pxe"}, "",
		},
		{"target not offered", with(target+"@Redfish.AllowableValues", []any{"None", "Hdd"}), pxe, "", nil, bmc.KindUnsupported},
		{"targets not told", without(target + "@Redfish.AllowableValues"), pxe, patchSystem, patch{enabled: "Once", target: "Pxe", mode: "UEFI"}, ""},

		{"Dell, mode unchanged", vendor("Dell Inc."), pxe, patchSystem, patch{enabled: "Once", target: "Pxe"}, ""},
		{
			"Dell, mode changed", all(vendor("Dell Inc."), with(mode, "Legacy")), pxe, patchSystem,
			patch{enabled: "Once", target: "Pxe", mode: "UEFI"}, "",
		},
		{"HPE, none", all(vendor("HPE"), armed), none, patchSystem, patch{target: "None"}, ""},
		{"HPE, PXE", vendor("Hewlett Packard Enterprise"), pxe, patchSystem, patch{enabled: "Once", target: "Pxe"}, ""},
		{"Supermicro", vendor("Super Micro Computer, Inc."), pxe, patchSystem, patch{enabled: "Once", target: "Pxe", mode: "UEFI"}, ""},
		{"Supermicro without mode", all(vendor("Supermicro"), without(mode)), pxe, patchSystem, patch{enabled: "Once", target: "Pxe"}, ""},
		{"AMI", all(vendor("American Megatrends International"), withSettings), pxe, patchSettings, patch{enabled: "Once", target: "Pxe", mode: "UEFI"}, ""},
		{"Gigabyte", all(vendor("GIGABYTE"), withSettings), pxe, patchSettings, patch{enabled: "Once", target: "Pxe", mode: "UEFI"}, ""},
		{"Gigabyte, none", all(vendor("GIGABYTE"), withSettings), none, patchSettings, patch{enabled: "Disabled", target: "None"}, ""},
		{"standard with a settings resource", withSettings, pxe, patchSystem, patch{enabled: "Once", target: "Pxe", mode: "UEFI"}, ""},
		{
			"vendor from the service root", all(vendor("Whitebox"), withSettings, func(s *bmctest.Server) {
				s.Update(bmctest.Root, func(r bmctest.Resource) { r["Vendor"] = "AMI" })
			}), pxe, patchSettings, patch{enabled: "Once", target: "Pxe", mode: "UEFI"}, "",
		},
		{
			"vendor from its extensions", all(vendor("Whitebox"), armed, func(s *bmctest.Server) {
				s.Update(bmctest.Root, func(r bmctest.Resource) { r["Oem"] = bmctest.Resource{"Hpe": bmctest.Resource{}} })
			}), none, patchSystem, patch{target: "None"}, "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := bmctest.New(t)
			test.change(s)
			c := client(t, s)
			system, err := c.System(t.Context(), bmctest.System)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.SetBoot(t.Context(), system, test.override); bmc.KindOf(err) != test.kind || (err == nil) != (test.kind == "") {
				t.Fatalf("error %v", err)
			}
			var got patch
			for _, r := range s.Requests() {
				if r.Method != http.MethodPatch {
					continue
				}
				if got != nil || r.String() != test.at {
					t.Errorf("unexpected %s", r)
				}
				if r.IfMatch == "" {
					t.Errorf("%s without If-Match", r)
				}
				var body struct{ Boot patch }
				if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
					t.Fatal(err)
				}
				got = body.Boot
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Boot (-want +got):\n%s", diff)
			}
		})
	}
}

// Somebody else may have changed the system since it was read.
func TestStaleETagIsRefreshedOnce(t *testing.T) {
	s := bmctest.New(t)
	c := client(t, s)
	system, err := c.System(t.Context(), bmctest.System)
	if err != nil {
		t.Fatal(err)
	}
	vendor("Contoso")(s) // makes a new version
	if err := c.SetBoot(t.Context(), system, bmc.BootOverride{Target: bmc.BootPXE}); err != nil {
		t.Fatal(err)
	}
	if n := s.Count(patchSystem); n != 2 {
		t.Errorf("%d changes, want the refused one and one more", n)
	}

	s.Handle(patchSystem, func(w http.ResponseWriter, _ *http.Request) {
		bmctest.Fail(w, http.StatusPreconditionFailed, "Base.1.8.PreconditionFailed")
	})
	if err := c.SetBoot(t.Context(), system, bmc.BootOverride{Target: bmc.BootPXE}); bmc.KindOf(err) != bmc.KindRejected {
		t.Errorf("error %v", err)
	}
	if n := s.Count(patchSystem); n != 4 {
		t.Errorf("%d changes, want 2 more and then no more", n)
	}
}

// HPE refuses changes during POST with a 400 that means "later".
func TestRefusalDuringPOST(t *testing.T) {
	for name, want := range map[string]bmc.Kind{"HPE": bmc.KindServer, "Contoso": bmc.KindRejected} {
		s := bmctest.New(t)
		vendor(name)(s)
		refuse := func(w http.ResponseWriter, _ *http.Request) {
			bmctest.Fail(w, http.StatusBadRequest, "iLO.2.14.UnsupportedOperation")
		}
		s.Handle(patchSystem, refuse)
		s.Handle("POST "+bmctest.System+"/Actions/ComputerSystem.Reset", refuse)
		c := client(t, s)
		system, err := c.System(t.Context(), bmctest.System)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetBoot(t.Context(), system, bmc.BootOverride{Target: bmc.BootPXE}); bmc.KindOf(err) != want {
			t.Errorf("%s, boot: %v", name, err)
		}
		if err := c.Reset(t.Context(), system, bmc.ResetOn); bmc.KindOf(err) != want {
			t.Errorf("%s, reset: %v", name, err)
		}
	}
}

// fewTargets takes the targets of an override that lasts, and nothing else: None is an error inside the service, and so
// is, unless alone, a change that names no target.
func fewTargets(s *bmctest.Server, alone bool) {
	boot(s, func(b bmctest.Resource) {
		b["BootSourceOverrideEnabled"], b["BootSourceOverrideTarget"] = "Continuous", "Pxe"
		b["BootSourceOverrideTarget@Redfish.AllowableValues"] = []any{"Pxe", "Cd", "Hdd"}
	})
	s.Handle(patchSystem, func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Boot map[string]any }
		_ = json.NewDecoder(r.Body).Decode(&body)
		target, sent := body.Boot["BootSourceOverrideTarget"]
		switch {
		case sent && target != "Pxe" && target != "Cd" && target != "Hdd":
			bmctest.Fail(w, http.StatusInternalServerError, "Base.1.0.GeneralError")
		case !sent && !alone:
			bmctest.Fail(w, http.StatusBadRequest, "Base.1.0.GeneralError")
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	})
}

// changes are the Boot objects that were sent.
func changes(t *testing.T, s *bmctest.Server) (sent []map[string]any) {
	t.Helper()
	for _, r := range s.Requests() {
		var body struct{ Boot map[string]any }
		if r.String() != patchSystem {
			continue
		}
		if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, body.Boot)
	}
	return sent
}

// An override is taken away by what a system offers for it, so that an installed machine starts from its disk.
func TestClearBootWithoutNone(t *testing.T) {
	const (
		enabled = "BootSourceOverrideEnabled"
		target  = "BootSourceOverrideTarget"
		mode    = "BootSourceOverrideMode"
		allowed = "@Redfish.AllowableValues"
	)
	type patch = map[string]any
	hdd := patch{enabled: "Once", target: "Hdd", mode: "UEFI"}
	for _, test := range []struct {
		name   string
		change func(*bmctest.Server)
		want   []patch
		kind   bmc.Kind
	}{
		{"disabled alone is taken", func(s *bmctest.Server) { fewTargets(s, true) }, []patch{{enabled: "Disabled"}}, ""},
		{"it is not, but the disk is", func(s *bmctest.Server) { fewTargets(s, false) }, []patch{{enabled: "Disabled"}, hdd}, ""},
		{
			"an override cannot be disabled",
			all(func(s *bmctest.Server) { fewTargets(s, false) }, with(enabled+allowed, []any{"Once", "Continuous"})),
			[]patch{hdd}, "",
		},
		{"the disk is the override", all(func(s *bmctest.Server) { fewTargets(s, false) }, with(target, "Hdd")), nil, ""},
		{
			"None is not told, and refused",
			all(func(s *bmctest.Server) { fewTargets(s, false) }, without(target+allowed)),
			[]patch{{enabled: "Disabled", target: "None"}, {enabled: "Disabled"}, hdd}, "",
		},
		{
			"nothing will do",
			all(func(s *bmctest.Server) { fewTargets(s, false) }, with(enabled+allowed, []any{"Once"}), with(target+allowed, []any{"Pxe"})),
			nil, bmc.KindUnsupported,
		},
		{
			"it is too early",
			all(vendor("HPE"), with(target, "Pxe"), with(enabled, "Once"), func(s *bmctest.Server) {
				s.Handle(patchSystem, func(w http.ResponseWriter, _ *http.Request) {
					bmctest.Fail(w, http.StatusBadRequest, "iLO.2.14.UnsupportedOperation")
				})
			}),
			[]patch{{target: "None"}}, bmc.KindServer,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := bmctest.New(t)
			test.change(s)
			c := client(t, s)
			system, err := c.System(t.Context(), bmctest.System)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.SetBoot(t.Context(), system, bmc.BootOverride{}); bmc.KindOf(err) != test.kind || (err == nil) != (test.kind == "") {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(test.want, changes(t, s)); diff != "" {
				t.Errorf("Boot (-want +got):\n%s", diff)
			}
		})
	}
}

// So it is at the simulator, of every make.
func TestBootFromDiskWithoutNone(t *testing.T) {
	for _, v := range sim.Vendors() {
		for _, value := range []string{"refused", "taken"} {
			t.Run(string(v)+" "+value, func(t *testing.T) {
				r := newRack(t, v, 1)
				r.strike(fault.Spec{Kind: fault.FewBootTargets, Value: value})
				c := r.client(bmc.Options{})
				for _, want := range []sim.BootTarget{sim.BootPXE, sim.BootDisk} {
					s, err := system(t.Context(), c)
					if err != nil {
						t.Fatal(err)
					}
					override := bmc.BootOverride{}
					if want == sim.BootPXE {
						override.Target = bmc.BootPXE
					}
					if err := c.SetBoot(t.Context(), s, override); err != nil {
						t.Fatal(err)
					}
					if got := r.Machine(0).BootOverride(); got.Target != want {
						t.Errorf("the machine boots from %s, want %s", got.Target, want)
					}
				}
			})
		}
	}
}

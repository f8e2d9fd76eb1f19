package bootserver

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"testing"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
)

// What DHCP says is what HTTP says.
func TestDHCPAndHTTPAgree(t *testing.T) {
	for name, c := range map[string]struct {
		client   dhcp.Client
		standing dhcp.Standing
		uuid     string
		script   string
		ask      string // the path, or the address that /httpboot is asked for
	}{
		"by its UUID":                 {dhcp.Client{UUID: uuidA, Class: dhcp.PXEClass}, dhcp.Known, uuidA, bootURL + "/ipxe", addrA},
		"by its MAC address":          {dhcp.Client{MAC: "02:fa:44:00:00:0a", Class: dhcp.HTTPClass}, dhcp.Known, uuidA, bootURL + "/ipxe", addrA},
		"by its MAC, its UUID is odd": {dhcp.Client{UUID: uuidX, MAC: "02:fa:44:00:00:0a"}, dhcp.Known, uuidA, bootURL + "/ipxe", addrA},
		"without a file":              {dhcp.Client{UUID: uuidB}, dhcp.Known, uuidB, bootURL + "/ipxe", addrB},
		"its file is not there yet":   {dhcp.Client{UUID: uuidE, Class: dhcp.HTTPClass}, dhcp.Known, uuidE, bootURL + "/ipxe", addrE},
		"assigned a profile":          {dhcp.Client{UUID: uuidS}, dhcp.Known, uuidS, bootURL + "/boot.ipxe", stranger},
		"one of ours, idle":           {dhcp.Client{UUID: uuidX, MAC: "02:00:00:00:00:77"}, dhcp.Known, uuidX, bootURL + "/ipxe", stranger},
		"a stranger":                  {dhcp.Client{UUID: uuidX, MAC: "02:00:00:00:00:99"}, dhcp.Unknown, uuidX, bootURL + "/boot.ipxe", stranger},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(cfg *Config) {
				cfg.Profiles = profiles(t, nil)
				cfg.Known = func(_, mac string) bool { return mac == "02:00:00:00:00:77" }
			})
			got := s.Boot(c.client)
			if got.Standing != c.standing || got.UUID != c.uuid || got.ScriptURL != c.script {
				t.Errorf("got %+v", got)
			}
			var over struct{ UKIURL string }
			if err := json.Unmarshal(ask(s, c.ask+":1", "/httpboot").Body.Bytes(), &over); err != nil {
				t.Fatal(err)
			}
			if got.FileURL != over.UKIURL {
				t.Errorf("DHCP says %q, HTTP %q", got.FileURL, over.UKIURL)
			}
		})
	}
}

func TestDHCPPicksNoneOfSeveral(t *testing.T) {
	s := newSite(t, nil)
	if got := s.Boot(dhcp.Client{UUID: uuidC, Class: dhcp.HTTPClass}); got.Standing != dhcp.Known || got.FileURL != "" || got.ScriptURL == "" {
		t.Errorf("two configurations: %+v", got)
	}
	s.view.SetSynced(false)
	if got := s.Boot(dhcp.Client{UUID: uuidA}); got != (dhcp.Boot{Standing: dhcp.Unsynced}) {
		t.Errorf("before all is known: %+v", got)
	}
}

func TestDHCPSaysURLsOfItsFamily(t *testing.T) {
	sites, err := booturl.Parse([]string{bootURL, "http://[2001:db8::1]:8082"})
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func(cfg *Config) { cfg.BootURL, cfg.Sites = "", sites })
	if got := s.Boot(dhcp.Client{UUID: uuidA, Class: dhcp.HTTPClass, IPv6: true}); got.ScriptURL != "http://[2001:db8::1]:8082/ipxe" || got.FileURL != "http://[2001:db8::1]:8082/httpboot/r/i/sha256-aa.efi" {
		t.Errorf("%+v", got)
	}
}

// Everything that a machine of ours was told is in its record, and a stranger in the list of strangers.
func TestDHCPIsRecorded(t *testing.T) {
	pxe := dhcp.Client{UUID: uuidA, MAC: "02:fa:44:00:00:0a", Class: dhcp.PXEClass, Arch: dhcp.X64}
	known := dhcp.Boot{Standing: dhcp.Known, UUID: uuidA, Attempt: "attempt-a", Entry: "IPXEBootConfig/ns/a"}
	program := dhcp.Answer{Kind: dhcp.Program, Reason: dhcp.ReasonServed, Boot: "snponly.efi"}
	plain := pxe
	plain.Class = dhcp.OtherClass
	for name, c := range map[string]struct {
		event  dhcp.Event
		what   string
		status int
	}{
		"a boot program":        {dhcp.Event{Client: pxe, Boot: known, Answer: program, Step: "offer", Addr: netip.MustParseAddr(addrA)}, "offer: snponly.efi", http.StatusOK},
		"a lease alone":         {dhcp.Event{Client: plain, Boot: known, Answer: dhcp.Answer{Reason: dhcp.ReasonNoNetworkBoot}, Step: "ack"}, "ack: address", http.StatusOK},
		"nothing to boot":       {dhcp.Event{Client: pxe, Boot: known, Answer: dhcp.Answer{Reason: dhcp.ReasonNoProgram}, Step: "offer"}, "offer: NoBootProgram", http.StatusNotFound},
		"no answer":             {dhcp.Event{Client: pxe, Boot: known, Answer: dhcp.Answer{Reason: dhcp.ReasonNoProgram}}, "NoBootProgram", http.StatusNotFound},
		"to be asked again":     {dhcp.Event{Client: pxe, Boot: known, Answer: dhcp.Answer{Kind: dhcp.Wait, Reason: dhcp.ReasonUnsynced}}, "NotSynchronised", http.StatusServiceUnavailable},
		"for another server":    {dhcp.Event{Client: pxe, Boot: known, Answer: program}, "", 0},
		"an operating system's": {dhcp.Event{Client: plain, Boot: known, Answer: dhcp.Answer{Reason: dhcp.ReasonNoNetworkBoot}}, "", 0},
		"a stranger's lease":    {dhcp.Event{Client: plain, Answer: dhcp.Answer{Reason: dhcp.ReasonNoNetworkBoot}, Step: "ack"}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, nil)
			s.Answered(c.event)
			if c.what == "" {
				if len(*s.delivered) > 0 {
					t.Errorf("recorded %+v", *s.delivered)
				}
				return
			}
			if len(*s.delivered) != 1 {
				t.Fatalf("recorded %+v", *s.delivered)
			}
			d := (*s.delivered)[0]
			if d.Kind != bootview.DeliveredBoot || d.What != c.what || d.Status != c.status || d.UUID != uuidA || d.Attempt != "attempt-a" || d.MAC != pxe.MAC {
				t.Errorf("recorded %+v", d)
			}
		})
	}
	unknown := &bootview.UnknownMachines{}
	s := newSite(t, func(cfg *Config) { cfg.Unknown = unknown })
	s.Answered(dhcp.Event{Client: dhcp.Client{UUID: uuidX, MAC: "02:00:00:00:00:99", Class: dhcp.PXEClass, Arch: dhcp.X64}, Answer: dhcp.Answer{Reason: dhcp.ReasonUnknown}})
	s.Answered(dhcp.Event{Client: dhcp.Client{MAC: "02:00:00:00:00:98"}, Answer: dhcp.Answer{Reason: dhcp.ReasonNoNetworkBoot}, Step: "ack"})
	list := unknown.List(now)
	if len(list) != 1 || list[0].MAC != "02:00:00:00:00:99" || list[0].UUID != uuidX || list[0].Architecture != "x86_64" || list[0].Path != "DHCP PXEClient" {
		t.Errorf("strangers: %+v", list)
	}
}

// A boot program over TFTP is of the machine whose address, or whose MAC address, the reader has.
func TestTFTPIsRecorded(t *testing.T) {
	s := newSite(t, func(cfg *Config) {
		cfg.Neighbour = func(a netip.Addr) string {
			return map[string]string{"10.0.0.200": "02:fa:44:00:00:0a"}[a.String()]
		}
	})
	for addr, uuid := range map[string]string{addrA: uuidA, "10.0.0.200": uuidA, stranger: ""} {
		*s.delivered = nil
		s.Fetched("snponly.efi", netip.MustParseAddr(addr), 1000, true)
		if got := *s.delivered; len(got) != 1 || got[0].UUID != uuid || got[0].Kind != Program || got[0].What != "snponly.efi" || got[0].Bytes != 1000 {
			t.Errorf("%s: %+v", addr, got)
		}
	}
}

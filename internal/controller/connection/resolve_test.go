package connection

import (
	"errors"
	"strings"
	"testing"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
)

func TestEndpointsOfAnySpelling(t *testing.T) {
	for name, tc := range map[string]struct {
		ip       string
		protocol metalv1.Protocol
		key      string
		reason   string
	}{
		"plain":           {"10.0.0.1", metalv1.Protocol{Name: "Redfish", Scheme: "http", Port: 8000}, "http://10.0.0.1:8000", ""},
		"https unless":    {"10.0.0.1", metalv1.Protocol{Name: "Redfish"}, "https://10.0.0.1:443", ""},
		"upper case":      {"10.0.0.1", metalv1.Protocol{Name: "REDFISH", Scheme: "HTTPS"}, "https://10.0.0.1:443", ""},
		"a dialect":       {"10.0.0.1", metalv1.Protocol{Name: "RedfishLocal", Scheme: "http"}, "http://10.0.0.1:80", ""},
		"IPv6":            {"FD00:0::1", metalv1.Protocol{Name: "Redfish"}, "https://[fd00::1]:443", ""},
		"another":         {"10.0.0.1", metalv1.Protocol{Name: "IPMI"}, "", ReasonProtocolNotSupported},
		"no name":         {"10.0.0.1", metalv1.Protocol{}, "", ReasonProtocolNotSupported},
		"no address":      {"", metalv1.Protocol{Name: "Redfish"}, "", ReasonAddressInvalid},
		"a port of none":  {"10.0.0.1", metalv1.Protocol{Name: "Redfish", Port: -1}, "", ReasonAddressInvalid},
		"a high port":     {"10.0.0.1", metalv1.Protocol{Name: "Redfish", Port: 65536}, "", ReasonAddressInvalid},
		"another scheme":  {"10.0.0.1", metalv1.Protocol{Name: "Redfish", Scheme: "gopher"}, "", ReasonProtocolNotSupported},
		"name of no host": {"bmc.example.org", metalv1.Protocol{Name: "Redfish"}, "", ReasonAddressInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := Endpoint(tc.ip, tc.protocol)
			var terminal reconcileerror.Terminal
			if errors.As(err, &terminal) != (tc.reason != "") || terminal.Reason != tc.reason {
				t.Fatalf("error %v, want reason %q", err, tc.reason)
			}
			if err == nil && e.Key() != tc.key {
				t.Errorf("key %s, want %s", e.Key(), tc.key)
			}
		})
	}
}

func TestWhichServerASystemIs(t *testing.T) {
	const a, b = "4c4c4544-0043-3510-8052-b7c04f4e4d32", "4c4c4544-0043-3510-8052-b7c04f4e4d33"
	for name, tc := range map[string]struct {
		uuid, uri string
		system    bmc.System
		want      bool
	}{
		"same UUID":                  {a, "", bmc.System{URI: "/1", UUID: a}, true},
		"same UUID, other case":      {strings.ToUpper(a), "", bmc.System{URI: "/1", UUID: a}, true},
		"same UUID, moved":           {a, "/1", bmc.System{URI: "/2", UUID: a}, true},
		"other UUID at the same URI": {a, "/1", bmc.System{URI: "/1", UUID: b}, false},
		"URI, Server without UUID":   {"", "/1", bmc.System{URI: "/1", UUID: a}, true},
		"URI, system without UUID":   {a, "/1", bmc.System{URI: "/1"}, true},
		"neither":                    {"", "", bmc.System{URI: "/1"}, false},
		"other URI":                  {"", "/1", bmc.System{URI: "/2"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &metalv1.Server{}
			s.Spec.SystemUUID, s.Spec.SystemURI = tc.uuid, tc.uri
			if got := IsSystem(s, tc.system); got != tc.want {
				t.Errorf("is it? %v", got)
			}
		})
	}
}

func TestWhichSystemAServerIs(t *testing.T) {
	const a, b = "4c4c4544-0043-3510-8052-b7c04f4e4d32", "4c4c4544-0043-3510-8052-b7c04f4e4d33"
	read := func(uri, uuid string) fleet.SystemObservation {
		return fleet.SystemObservation{System: bmc.System{URI: uri, UUID: uuid}, Seen: time.Unix(1, 0)}
	}
	unread := func(uri string) fleet.SystemObservation {
		return fleet.SystemObservation{System: bmc.System{URI: uri}}
	}
	for name, tc := range map[string]struct {
		uuid, uri string
		systems   []fleet.SystemObservation
		want      int
		shared    int
	}{
		"at its URI":                            {a, "/2", []fleet.SystemObservation{read("/1", b), read("/2", a)}, 1, 0},
		"moved":                                 {a, "/2", []fleet.SystemObservation{read("/1", a), read("/2", b)}, 0, 0},
		"moved, its URI is free":                {a, "/2", []fleet.SystemObservation{read("/1", a)}, 0, 0},
		"by URI, the system tells no UUID":      {a, "/2", []fleet.SystemObservation{read("/1", b), read("/2", "")}, 1, 0},
		"moved, what is there tells no UUID":    {a, "/1", []fleet.SystemObservation{read("/1", ""), read("/2", a)}, 1, 0},
		"by URI, the Server has no UUID":        {"", "/2", []fleet.SystemObservation{read("/1", b), read("/2", a)}, 1, 0},
		"by UUID, the Server has no URI":        {strings.ToUpper(a), "", []fleet.SystemObservation{read("/1", b), read("/2", a)}, 1, 0},
		"one of two, the first":                 {a, "/1", []fleet.SystemObservation{read("/1", a), read("/2", a)}, 0, 0},
		"one of two, the second":                {a, "/2", []fleet.SystemObservation{read("/1", a), read("/2", a)}, 1, 0},
		"one of two, whichever":                 {a, "", []fleet.SystemObservation{read("/1", a), read("/2", a)}, -1, 2},
		"one of two, and neither is at its URI": {a, "/3", []fleet.SystemObservation{read("/1", a), read("/2", a), read("/3", b)}, -1, 2},
		"not read yet, another tells its UUID":  {a, "/2", []fleet.SystemObservation{read("/1", a), unread("/2")}, 1, 0},
		"none":                                  {a, "/1", []fleet.SystemObservation{read("/1", b)}, -1, 0},
		"nothing to tell it by":                 {"", "", []fleet.SystemObservation{read("/1", a), read("", "")}, -1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &metalv1.Server{}
			s.Spec.SystemUUID, s.Spec.SystemURI = tc.uuid, tc.uri
			if got, shared := SystemOf(s, tc.systems); got != tc.want || len(shared) != tc.shared {
				t.Errorf("system %d, shared by %v; want %d, %d", got, shared, tc.want, tc.shared)
			}
		})
	}
}

package connection

import (
	"errors"
	"strings"
	"testing"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/outcome"
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
		"name of no host": {"bmc.example.org", metalv1.Protocol{Name: "Redfish"}, "", ReasonAddressInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := Endpoint(tc.ip, tc.protocol)
			var terminal outcome.Terminal
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

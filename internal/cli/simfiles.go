package cli

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/farrier-dev/farrier/internal/sim"
)

// endpointManifests are what a DHCP server would have told of the BMCs. Ten thousand
// of them are written as text: an encoder would need more memory than the rack.
func endpointManifests(bmcs []sim.BMCInfo) []byte {
	var out bytes.Buffer
	for _, b := range bmcs {
		fmt.Fprintf(&out, `---
apiVersion: metal.ironcore.dev/v1alpha1
kind: Endpoint
metadata:
  name: %s
spec:
  macAddress: %q
  ip: %q
`, b.Name, b.MAC, b.IP)
	}
	return out.Bytes()
}

// prefixEntry is an entry of a MAC prefix database.
type prefixEntry struct {
	MACPrefix          string             `yaml:"macPrefix"`
	Manufacturer       string             `yaml:"manufacturer"`
	Protocol           string             `yaml:"protocol"`
	ProtocolScheme     string             `yaml:"protocolScheme"`
	Port               int                `yaml:"port"`
	Type               string             `yaml:"type"`
	DefaultCredentials []prefixCredential `yaml:"defaultCredentials"`
	Console            prefixConsole      `yaml:"console"`
}

type prefixCredential struct {
	Username string `yaml:"username"`
	Password string `yaml:"password"`
}

type prefixConsole struct {
	Type string `yaml:"type"`
	Port int    `yaml:"port"`
}

// noConsole stands for the console that no simulated BMC has: metal-operator creates no BMC from an entry without one. Over SSH
// it would be more than that: a way to restart the BMC.
var noConsole = prefixConsole{Type: "IPMI", Port: 623}

// macPrefixes is one entry for all BMCs where they have one port, or else one for each. It is good for metal-operator too,
// which compares prefixes with addresses that it has taken the colons out of.
func macPrefixes(bmcs []sim.BMCInfo, username, password string) ([]byte, error) {
	entry := func(prefix string, b sim.BMCInfo) prefixEntry {
		return prefixEntry{
			strings.ReplaceAll(prefix, ":", ""), "Simulated", "Redfish", b.Scheme, b.Port, "bmc", []prefixCredential{{username, password}}, noConsole,
		}
	}
	entries := []prefixEntry{entry(sim.MACPrefix, bmcs[0])}
	if bmcs[len(bmcs)-1].Port != bmcs[0].Port {
		entries = nil
		for _, b := range bmcs {
			entries = append(entries, entry(b.MAC, b))
		}
	}
	return yaml.Marshal(map[string][]prefixEntry{"macPrefixes": entries})
}

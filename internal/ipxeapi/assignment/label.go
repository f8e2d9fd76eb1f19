package assignment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/farrier-dev/farrier/internal/identity"
)

const (
	// MaxLabels bounds how many labels a subject has; iPXE has some thirty settings worth sending.
	MaxLabels = 64
	// MaxKey and MaxValue bound a label, in bytes.
	MaxKey, MaxValue = 128, 512
)

// Canonical keys of the labels that mean something here.
const (
	KeyUUID         = "uuid"
	KeyMAC          = "mac"
	KeySerial       = "serial"
	KeyAsset        = "asset"
	KeyHostname     = "hostname"
	KeyIP           = "ip"
	KeyArchitecture = "buildarch"
	KeyCPU          = "cpuarch" // what the processor can, where buildarch is what the boot program is
)

// aliases are other spellings of keys, in lower case.
var aliases = map[string]string{
	"serialnumber": KeySerial, "serialnumbers": KeySerial, "serials": KeySerial,
	"uuids": KeyUUID, "systemuuid": KeyUUID, "uuidlist": KeyUUID,
	"arch": KeyArchitecture, "architecture": KeyArchitecture,
	"macs": KeyMAC, "macaddress": KeyMAC,
	"assettag": KeyAsset,
}

// prefixes say where a label comes from in manifests, which matters to nobody here.
var prefixes = []string{"assignment/ipxe-", "assignment/ipxe/", "assignment/extrinsic-", "assignment/extrinsic/"}

// CanonicalKey is the one spelling of a key.
func CanonicalKey(key string) string {
	key = strings.ToLower(strings.TrimSpace(key))
	for _, prefix := range prefixes {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			key = rest
			break
		}
	}
	if canonical, ok := aliases[key]; ok {
		return canonical
	}
	return key
}

// architectures are other names of the architectures of iPXE.
var architectures = map[string]string{
	"aarch64": "arm64", "amd64": "x86_64", "x64": "x86_64", "x86-64": "x86_64",
	"x86": "i386", "i486": "i386", "i586": "i386", "i686": "i386",
}

// CanonicalValue is the one spelling of the value of a canonical key. What is no UUID
// or no address stays as it is: an assignment for it matches nothing, and says so.
func CanonicalValue(key, value string) string {
	value = strings.TrimSpace(value)
	switch key {
	case KeyUUID:
		if canonical, err := identity.UUID(value); err == nil {
			return canonical
		}
		return strings.ToLower(value)
	case KeyMAC:
		if canonical, err := identity.MAC(value); err == nil {
			return canonical
		}
		return strings.ToLower(value)
	case KeyIP:
		if canonical, err := identity.IP(value); err == nil {
			return canonical
		}
	case KeyArchitecture, KeyCPU:
		value = strings.ToLower(value)
		if canonical, ok := architectures[value]; ok {
			return canonical
		}
	case KeyHostname:
		return strings.ToLower(strings.TrimSuffix(value, "."))
	}
	return value
}

// Placeholder reports whether a canonical value of a key that should identify a machine
// identifies none.
func Placeholder(key, value string) bool {
	return ClassOf(key) == Hardware && identity.Placeholder(value)
}

// builds are the architectures that iPXE is built for (https://ipxe.org/appnote/buildtargets).
var builds = []string{"i386", "x86_64", "arm32", "arm64", "loong64", "riscv32", "riscv64"}

// Unmatched says why no machine reports a value of a canonical key; empty: one may.
func Unmatched(key, value string) string {
	canonical := CanonicalValue(key, value)
	switch {
	case canonical == "":
		return "an empty value matches no machine"
	case Placeholder(key, canonical):
		return fmt.Sprintf("%q is a placeholder of a vendor and identifies no machine", value)
	case key == KeyUUID && !valid(identity.UUID, canonical):
		return fmt.Sprintf("%q is not a UUID and matches no machine", value)
	case key == KeyMAC && !valid(identity.MAC, canonical):
		return fmt.Sprintf("%q is not a MAC address and matches no machine", value)
	case key == KeyIP && !valid(identity.IP, canonical):
		return fmt.Sprintf("%q is not an IP address and matches no machine", value)
	case (key == KeyArchitecture || key == KeyCPU) && !slices.Contains(builds, canonical):
		return fmt.Sprintf("iPXE has no architecture %q; it has %s", value, strings.Join(builds, ", "))
	}
	return ""
}

func valid(parse func(string) (string, error), text string) bool {
	_, err := parse(text)
	return err == nil
}

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

// canonicalName is the one spelling of a key that is in lower case and says nothing of where it comes from: others are aliases.
func canonicalName(key string) string {
	switch key {
	case "serialnumber", "serialnumbers", "serials":
		return KeySerial
	case "uuids", "systemuuid", "uuidlist":
		return KeyUUID
	case "arch", "architecture":
		return KeyArchitecture
	case "macs", "macaddress":
		return KeyMAC
	case "assettag":
		return KeyAsset
	}
	return key
}

// CanonicalKey is the one spelling of a key.
func CanonicalKey(key string) string {
	key = strings.ToLower(strings.TrimSpace(key))
	// Where a label comes from in manifests matters to nobody here.
	if rest, ok := strings.CutPrefix(key, "assignment/"); ok {
		for _, prefix := range []string{"ipxe-", "ipxe/", "extrinsic-", "extrinsic/"} {
			if name, ok := strings.CutPrefix(rest, prefix); ok {
				key = name
				break
			}
		}
	}
	return canonicalName(key)
}

// canonicalArchitecture is the name that iPXE has for an architecture, of those that others have for it, in lower case.
func canonicalArchitecture(name string) string {
	switch name {
	case "aarch64":
		return "arm64"
	case "amd64", "x64", "x86-64":
		return "x86_64"
	case "x86", "i486", "i586", "i686":
		return "i386"
	}
	return name
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
		return canonicalArchitecture(strings.ToLower(value))
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

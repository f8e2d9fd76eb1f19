package bmc

import "strings"

// canonicalUUID spells a UUID as RFC 9562 §4 does, in lower case. All zeros and
// all ones mean "not set" in SMBIOS (DSP0134 §7.2.1) and would make one machine of
// many; they and what is no UUID become "".
func canonicalUUID(s string) string {
	s = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(s)), "urn:uuid:")
	s = strings.TrimSuffix(strings.TrimPrefix(s, "{"), "}")
	h := strings.ReplaceAll(s, "-", "")
	if len(h) != 32 || !isHex(h) || strings.Trim(h, "0") == "" || strings.Trim(h, "f") == "" {
		return ""
	}
	return h[0:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:32]
}

// canonicalMAC spells a MAC address in lower case with colons; what is none, and
// the all-zero one that stands for none, become "".
func canonicalMAC(s string) string {
	h := strings.Map(func(r rune) rune {
		if r == ':' || r == '-' || r == '.' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(s))
	if len(h) != 12 || !isHex(h) || strings.Trim(h, "0") == "" {
		return ""
	}
	return h[0:2] + ":" + h[2:4] + ":" + h[4:6] + ":" + h[6:8] + ":" + h[8:10] + ":" + h[10:12]
}

func isHex(s string) bool {
	for i := range len(s) {
		if strings.IndexByte("0123456789abcdef", s[i]) < 0 {
			return false
		}
	}
	return true
}

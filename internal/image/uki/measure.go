package uki

import (
	"crypto/sha256"
	"encoding/hex"
)

// measured are the sections in the order in which the stub measures them, whatever their order in the file (systemd-stub(7), systemd-measure(1)).
// Those with since are measured from that version of systemd on.
var measured = []struct {
	name  string
	since int
}{
	{SectionKernel, 0}, {SectionOSRelease, 0}, {SectionCommandLine, 0}, {SectionInitramfs, 0}, {".ucode", 256}, {".splash", 0}, {".dtb", 0},
	{".uname", 254}, {".sbat", 254}, {".pcrpkey", 0},
}

// PCR11 predicts the SHA-256 value of PCR 11, in hexadecimal, as the kernel finds it: the stub has measured name and content of each section, and
// nobody has measured a boot phase yet.
func PCR11(i Image) string {
	var pcr [sha256.Size]byte
	extend := func(content []byte) {
		digest := sha256.Sum256(content)
		pcr = sha256.Sum256(append(pcr[:], digest[:]...))
	}
	for _, m := range measured {
		content := i.Section(m.name)
		if content == nil || i.stubMajor < m.since {
			continue
		}
		extend([]byte(m.name + "\x00"))
		extend(content)
	}
	return hex.EncodeToString(pcr[:])
}

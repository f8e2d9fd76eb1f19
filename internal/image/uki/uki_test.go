package uki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"debug/pe"
	"encoding/asn1"
	"encoding/binary"
	"encoding/hex"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const stubPath = "/usr/lib/systemd/boot/efi/linuxx64.efi.stub"

// emptyStub has the sections that count, and nothing that runs.
func emptyStub(machine uint16, version string) []byte {
	const at, fileAlign, headers = 0x40, 0x200, 0x200
	magic := "#### LoaderInfo: systemd-stub " + version + " ####"
	sections := []Section{{".text", []byte{0xc3}}, {".sbat", []byte("sbat,1\n")}, {magicSection, []byte(magic)}}
	le := binary.LittleEndian
	out := make([]byte, headers)
	copy(out, "MZ")
	le.PutUint32(out[0x3c:], at)
	h := out[at:]
	copy(h, "PE\x00\x00")
	le.PutUint16(h[atMachine:], machine)
	le.PutUint16(h[atSectionCount:], uint16(len(sections)))
	le.PutUint16(h[20:], 240) // SizeOfOptionalHeader
	le.PutUint16(h[atOptional:], 0x20b)
	le.PutUint32(h[atOptional+32:], 0x200)
	le.PutUint32(h[atOptional+36:], fileAlign)
	le.PutUint32(h[atSizeOfHeaders:], headers)
	le.PutUint16(h[atOptional+68:], efiApplication)
	le.PutUint32(h[atOptional+108:], 16)
	for i, s := range sections {
		row := out[at+atOptional+240+i*sectionBytes:]
		copy(row, s.Name)
		le.PutUint32(row[8:], uint32(len(s.Content)))
		le.PutUint32(row[12:], uint32(0x1000*(i+1)))
		le.PutUint32(row[16:], fileAlign)
		le.PutUint32(row[20:], uint32(len(out)))
		out = slices.Concat(out, s.Content, make([]byte, fileAlign-len(s.Content)))
	}
	return out
}

func kernelFor(architecture string) []byte {
	k := bytes.Repeat([]byte{0x90}, 5000)
	copy(k, "MZ")
	if architecture == "arm64" {
		copy(k[0x38:], "ARM\x64")
		return k
	}
	copy(k[0x1fe:], []byte{0x55, 0xaa})
	copy(k[0x202:], "HdrS")
	return k
}

func parts(stub []byte, architecture string) Parts {
	return Parts{Stub: stub, Kernel: kernelFor(architecture), Initramfs: []byte("070701"), CommandLine: "console=ttyS0", OSRelease: "ID=test\n"}
}

func build(t *testing.T, p Parts) []byte {
	t.Helper()
	content, err := Build(p)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestBuild(t *testing.T) {
	for architecture, machine := range map[string]uint16{"amd64": pe.IMAGE_FILE_MACHINE_AMD64, "arm64": pe.IMAGE_FILE_MACHINE_ARM64} {
		t.Run(architecture, func(t *testing.T) {
			p := parts(emptyStub(machine, "252.39"), architecture)
			content := build(t, p)
			if again := build(t, p); !bytes.Equal(content, again) {
				t.Error("the same parts give two images")
			}
			isSound(t, content)
			image, err := Read(content)
			if err != nil {
				t.Fatal(err)
			}
			if image.Architecture != architecture || image.StubVersion != "252.39" || image.Signatures != 0 {
				t.Errorf("architecture %s, stub %q, %d signatures", image.Architecture, image.StubVersion, image.Signatures)
			}
			for _, want := range append(p.sections(), Section{".text", []byte{0xc3}}) {
				if got := image.Section(want.Name); !bytes.Equal(got, want.Content) {
					t.Errorf("%s: %q, want %q", want.Name, got, want.Content)
				}
			}
		})
	}
}

// The stub of arm64 of Debian 12 (systemd 252) has sections for code and data alone, and the text that names it behind them.
func TestBuildWithPlainStub(t *testing.T) {
	plain := func(machine uint16) []byte {
		stub := emptyStub(machine, "252.39")
		stub[0x40+atSectionCount]-- // that of the text
		return stub
	}
	content := build(t, parts(plain(pe.IMAGE_FILE_MACHINE_ARM64), "arm64"))
	isSound(t, content)
	if image, err := Read(content); err != nil || image.Architecture != "arm64" || image.Section(SectionKernel) == nil {
		t.Errorf("%+v, %v", image, err)
	}
	if _, err := Build(parts(plain(pe.IMAGE_FILE_MACHINE_AMD64), "amd64")); err == nil {
		t.Error("a stub of amd64 without the section was taken")
	}
}

// isSound checks what firmware checks: sections in order, none over another or over the headers, all within the image.
func isSound(t *testing.T, content []byte) {
	t.Helper()
	file, err := pe.NewFile(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	optional := file.OptionalHeader.(*pe.OptionalHeader64)
	address, offset := optional.SizeOfHeaders, optional.SizeOfHeaders
	for _, s := range file.Sections {
		if s.VirtualAddress < address || s.Offset != offset || s.Size%optional.FileAlignment != 0 || s.VirtualSize > s.Size && s.Name != ".data" {
			t.Errorf("section %s: %+v begins before %#x or not at %#x", s.Name, s.SectionHeader, address, offset)
		}
		if strings.Contains(".osrel .cmdline .initrd .linux", s.Name) && s.VirtualAddress%leastAlign != 0 {
			t.Errorf("section %s begins within a page, at %#x", s.Name, s.VirtualAddress)
		}
		address, offset = s.VirtualAddress+s.VirtualSize, s.Offset+s.Size
	}
	if optional.SizeOfImage < address || optional.SizeOfImage%optional.SectionAlignment != 0 {
		t.Errorf("SizeOfImage %#x, and the last section ends at %#x", optional.SizeOfImage, address)
	}
	field := int(binary.LittleEndian.Uint32(content[0x3c:])) + atChecksum
	if got, want := optional.CheckSum, checksum(content, field); got != want {
		t.Errorf("checksum %#x, want %#x", got, want)
	}
}

func TestBuildRefuses(t *testing.T) {
	stub := emptyStub(pe.IMAGE_FILE_MACHINE_AMD64, "252")
	other := bytes.Clone(stub)
	copy(other[bytes.Index(other, []byte(magicSection)):], ".elsewhe")
	driver := bytes.Clone(stub)
	binary.LittleEndian.PutUint16(driver[0x40+atOptional+68:], 11)
	short := stub[:len(stub)-0x100]
	for name, tc := range map[string]struct {
		change func(*Parts)
		want   string
	}{
		"no stub":            {func(p *Parts) { p.Stub = []byte("MZ") }, "EFI stub"},
		"another program":    {func(p *Parts) { p.Stub = other }, ".sdmagic"},
		"a driver":           {func(p *Parts) { p.Stub = driver }, "subsystem 11"},
		"a stub cut short":   {func(p *Parts) { p.Stub = short }, "cut short"},
		"a kernel of arm64":  {func(p *Parts) { p.Kernel = kernelFor("arm64") }, "kernel is for arm64"},
		"an ELF kernel":      {func(p *Parts) { p.Kernel = append([]byte("\x7fELF"), make([]byte, 1000)...) }, "unknown architecture"},
		"no initramfs":       {func(p *Parts) { p.Initramfs = nil }, ".initrd"},
		"an empty cmd line":  {func(p *Parts) { p.CommandLine = "" }, ".cmdline"},
		"a truncated kernel": {func(p *Parts) { p.Kernel = p.Kernel[:100] }, "unknown architecture"},
	} {
		t.Run(name, func(t *testing.T) {
			p := parts(stub, "amd64")
			tc.change(&p)
			if _, err := Build(p); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestPCR11(t *testing.T) {
	want := func(sections ...Section) string {
		pcr := make([]byte, sha256.Size)
		for _, s := range sections {
			for _, measured := range []string{s.Name + "\x00", string(s.Content)} {
				digest := sha256.Sum256([]byte(measured))
				next := sha256.Sum256(slices.Concat(pcr, digest[:]))
				pcr = next[:]
			}
		}
		return hex.EncodeToString(pcr)
	}
	for version, sbat := range map[string]bool{"252.39": false, "257.8": true} {
		p := parts(emptyStub(pe.IMAGE_FILE_MACHINE_AMD64, version), "amd64")
		image, err := Read(build(t, p))
		if err != nil {
			t.Fatal(err)
		}
		expect := []Section{{".linux", p.Kernel}, {".osrel", []byte(p.OSRelease)}, {".cmdline", []byte(p.CommandLine)}, {".initrd", p.Initramfs}}
		if sbat {
			expect = append(expect, Section{".sbat", []byte("sbat,1\n")})
		}
		if got, want := PCR11(image), want(expect...); got != want {
			t.Errorf("stub %s: %s, want %s", version, got, want)
		}
	}
}

// systemd predicts the same of the same parts.
func TestPCR11AsSystemd(t *testing.T) {
	const program = "/usr/lib/systemd/systemd-measure"
	for _, needed := range []string{program, stubPath} {
		if _, err := os.Stat(needed); err != nil {
			t.Skipf("%v (Debian packages systemd, systemd-boot-efi)", err)
		}
	}
	stub, err := os.ReadFile(stubPath)
	if err != nil {
		t.Fatal(err)
	}
	p := parts(stub, "amd64")
	content := build(t, p)
	isSound(t, content)
	image, err := Read(content)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"calculate", "--bank=sha256", "--phase=:"}
	for flag, content := range map[string][]byte{"linux": p.Kernel, "osrel": []byte(p.OSRelease), "cmdline": []byte(p.CommandLine), "initrd": p.Initramfs} {
		file := filepath.Join(t.TempDir(), flag)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--"+flag+"="+file)
	}
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	told := regexp.MustCompile(`11:sha256=([0-9a-f]{64})`).FindSubmatch(out)
	if told == nil {
		t.Fatalf("systemd-measure: %s", out)
	}
	if got := PCR11(image); got != string(told[1]) {
		t.Errorf("%s, and systemd predicts %s", got, told[1])
	}
}

func authority(t *testing.T) (*rsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "Farrier test"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return key, certificate
}

// The structures as encoding/asn1 reads them; they are written with another package.
type (
	contentInfo struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue `asn1:"explicit,tag:0"`
	}
	signedDataFields struct {
		Version      int
		Algorithms   []pkix.AlgorithmIdentifier `asn1:"set"`
		Content      contentInfo
		Certificates asn1.RawValue  `asn1:"tag:0"`
		Signers      []signerFields `asn1:"set"`
	}
	signerFields struct {
		Version int
		Issuer  struct {
			Name   asn1.RawValue
			Serial *big.Int
		}
		Digest     pkix.AlgorithmIdentifier
		Attributes asn1.RawValue `asn1:"tag:0"`
		Signature  pkix.AlgorithmIdentifier
		Value      []byte
	}
	indirectFields struct {
		Data struct {
			Type  asn1.ObjectIdentifier
			Value asn1.RawValue
		}
		Digest struct {
			Algorithm pkix.AlgorithmIdentifier
			Value     []byte
		}
	}
)

func TestSign(t *testing.T) {
	key, certificate := authority(t)
	content := build(t, parts(emptyStub(pe.IMAGE_FILE_MACHINE_AMD64, "252"), "amd64"))
	signed, err := Sign(content, key, certificate)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Sign(content, key, certificate); err != nil || !bytes.Equal(signed, again) {
		t.Errorf("the second signature differs (%v)", err)
	}
	image, err := Read(signed)
	if err != nil || image.Signatures != 1 {
		t.Fatalf("%d signatures, %v", image.Signatures, err)
	}
	isSound(t, signed)
	h := headerOf(t, signed)
	digest := imageDigest(signed, h)
	if !bytes.Equal(digest, imageDigest(content, headerOf(t, content))) {
		t.Error("the signature changes what is signed")
	}
	if !verifies(t, certificates(signed, h)[0], digest, certificate) {
		t.Error("the signature does not verify")
	}
	signed[bytes.Index(signed, []byte("console="))]++
	if verifies(t, certificates(signed, h)[0], imageDigest(signed, h), certificate) {
		t.Error("the signature verifies another command line")
	}
	if _, err := Sign(signed, key, certificate); err == nil {
		t.Error("a signed image was signed again")
	}
	if _, other := authority(t); func() bool { _, err := Sign(content, key, other); return err == nil }() {
		t.Error("the certificate of another key was taken")
	}
	if elliptic, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	} else if _, err := Sign(content, elliptic, certificate); err == nil {
		t.Error("an elliptic key was taken")
	}
}

func headerOf(t *testing.T, content []byte) header {
	t.Helper()
	file, err := pe.NewFile(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	h, err := parseHeader(content, file)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// verifies checks a signature as firmware does.
func verifies(t *testing.T, message, digest []byte, certificate *x509.Certificate) bool {
	t.Helper()
	var outer contentInfo
	var data signedDataFields
	var indirect indirectFields
	unmarshal := func(der []byte, into any) {
		t.Helper()
		if rest, err := asn1.Unmarshal(der, into); err != nil || len(rest) > 0 {
			t.Fatalf("%T: %v, %d bytes left", into, err, len(rest))
		}
	}
	unmarshal(message, &outer)
	unmarshal(outer.Content.Bytes, &data)
	unmarshal(data.Content.Content.Bytes, &indirect)
	if !outer.Type.Equal(oidSignedData) || !data.Content.Type.Equal(oidIndirectData) || !indirect.Data.Type.Equal(oidPEImageData) || len(data.Signers) != 1 {
		t.Fatalf("not a signature of an image: %+v", data)
	}
	// DxeImageVerificationLib of EDK II compares the algorithm there.
	if sha, err := asn1.Marshal(oidSHA256); err != nil || !bytes.Equal(message[30:30+len(sha)], sha) {
		t.Errorf("no SHA-256 at offset 32 (%v)", err)
	}
	if !bytes.Equal(data.Certificates.Bytes, certificate.Raw) {
		t.Error("another certificate is in it")
	}
	signer := data.Signers[0]
	var inner asn1.RawValue
	unmarshal(data.Content.Content.Bytes, &inner)
	sum := sha256.Sum256(inner.Bytes)
	if !bytes.Contains(signer.Attributes.Bytes, sum[:]) {
		t.Error("the attributes do not have the digest of the content")
	}
	set := bytes.Clone(signer.Attributes.FullBytes)
	set[0] = 0x31 // signed as a SET (RFC 2315 §9.3)
	return certificate.CheckSignature(x509.SHA256WithRSA, set, signer.Value) == nil && bytes.Equal(indirect.Digest.Value, digest)
}

func FuzzRead(f *testing.F) {
	f.Add(emptyStub(pe.IMAGE_FILE_MACHINE_AMD64, "252"))
	f.Add([]byte("MZ"))
	f.Fuzz(func(_ *testing.T, content []byte) {
		if image, err := Read(content); err == nil {
			_ = PCR11(image)
		}
	})
}

package probe

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// endorsementAnswer is what a TPM says to TPM2_CreatePrimary with the template, as far as the key goes (part 3, §24.1).
func endorsementAnswer(modulus []byte) []byte {
	be := binary.BigEndian
	template := endorsementCommand()
	at := bytes.Index(template, []byte{0, 1, 0, 0x0b, 0, 3, 0, 0xb2}) // TPMT_PUBLIC
	public := bytes.Clone(template[at : at+56])                       // up to the length of the modulus
	public = append(be.AppendUint16(public, uint16(len(modulus))), modulus...)
	body := be.AppendUint32(nil, 0x80000000)
	body = be.AppendUint32(body, uint32(2+len(public)))
	body = append(be.AppendUint16(body, uint16(len(public))), public...)
	answer := be.AppendUint16(nil, tpmSessions)
	answer = be.AppendUint32(answer, uint32(tpmHeader+len(body)))
	answer = be.AppendUint32(answer, 0)
	return append(answer, body...)
}

func TestEndorsement(t *testing.T) {
	command := endorsementCommand()
	// The length in the header is that of the command, and the template is that of the profile: 314 bytes.
	if got := int(binary.BigEndian.Uint32(command[2:])); got != len(command) || got != tpmHeader+4+4+9+6+2+314+6 {
		t.Errorf("a command of %d bytes says %d", len(command), got)
	}
	modulus := bytes.Repeat([]byte{0xc1}, 256)
	text, err := parseEndorsement(endorsementAnswer(modulus))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(text))
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if rsaKey, ok := key.(*rsa.PublicKey); !ok || !bytes.Equal(rsaKey.N.Bytes(), modulus) || rsaKey.E != 65537 {
		t.Errorf("key %+v", key)
	}
	refusal := binary.BigEndian.AppendUint32([]byte{0x80, 1, 0, 0, 0, 10}, 0x9a2)
	if _, err := parseEndorsement(refusal); err == nil || !strings.Contains(err.Error(), "0x9a2") {
		t.Errorf("a refusal: %v", err)
	}
	whole := endorsementAnswer(modulus)
	for n := range whole {
		if _, err := parseEndorsement(whole[:n]); err == nil {
			t.Fatalf("%d of %d bytes were taken", n, len(whole))
		}
	}
	if _, err := parseEndorsement(endorsementAnswer(modulus[:128])); err == nil {
		t.Error("a key of 1024 bits that says 2048 was taken")
	}
}

func TestTPM(t *testing.T) {
	if got := tpm(tree{files(nil)}); got != nil {
		t.Errorf("no TPM: %+v", got)
	}
	got := tpm(tree{files(map[string]string{
		tpmDevice + "/tpm_version_major": "2\n", tpmDevice + "/pcr-sha1/0": "00\n", tpmDevice + "/pcr-sha1/2": "22\n",
		tpmDevice + "/pcr-sha256/0": "AA\n", tpmDevice + "/pcr-sha256/1": "bb\n", tpmDevice + "/pcr-odd/0": "no hexadecimal\n",
		tpmEventLog: strings.Repeat("x", maxEventLog+1),
	})})
	want := &inspection.TPM{Version: "2", PCRs: []inspection.PCRBank{{Algorithm: "sha1", Values: []string{"00"}}, {Algorithm: "sha256", Values: []string{"aa", "bb"}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzEndorsement(f *testing.F) {
	f.Add(endorsementAnswer(bytes.Repeat([]byte{1}, 256)))
	f.Fuzz(func(_ *testing.T, answer []byte) { _, _ = parseEndorsement(answer) })
}

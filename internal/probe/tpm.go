package probe

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"path"
	"strconv"
	"strings"

	"github.com/farrier-dev/farrier/internal/inspection"
)

const (
	tpmDevice   = "sys/class/tpm/tpm0"
	tpmEventLog = "sys/kernel/security/tpm0/binary_bios_measurements"
	pcrCount    = 24 // TCG PC Client Platform TPM Profile §4.6
	// maxEventLog is what a report has room for. Real logs are some 20 to 60 KB.
	maxEventLog = 128 << 10
)

// tpm tells what is known of the TPM without asking it; nil: there is none.
func tpm(t tree) *inspection.TPM {
	major := t.text(tpmDevice + "/tpm_version_major")
	if major == "" {
		return nil
	}
	found := &inspection.TPM{Version: major, PCRs: pcrBanks(t)}
	if log := t.read(tpmEventLog, maxEventLog+1); len(log) <= maxEventLog {
		found.EventLog = []byte(log)
	}
	return found
}

// pcrBanks reads the values of all banks that the kernel shows (Documentation/ABI/stable/sysfs-class-tpm).
func pcrBanks(t tree) []inspection.PCRBank {
	var out []inspection.PCRBank
	for _, name := range t.list(tpmDevice) {
		algorithm, ok := strings.CutPrefix(name, "pcr-")
		if !ok {
			continue
		}
		bank := inspection.PCRBank{Algorithm: algorithm}
		for i := range pcrCount {
			value := strings.ToLower(t.text(path.Join(tpmDevice, name, strconv.Itoa(i))))
			if _, err := hex.DecodeString(value); err != nil || value == "" {
				break
			}
			bank.Values = append(bank.Values, value)
		}
		if len(bank.Values) > 0 {
			out = append(out, bank)
		}
	}
	return out
}

// Of TPM 2.0 Library, part 2 (structures) and part 3 (commands).
const (
	tpmSessions      = 0x8002     // TPM_ST_SESSIONS
	tpmCreatePrimary = 0x00000131 // TPM_CC_CreatePrimary
	tpmEndorsement   = 0x4000000b // TPM_RH_ENDORSEMENT
	tpmPassword      = 0x40000009 // TPM_RS_PW
	tpmAlgRSA        = 0x0001
	tpmAlgAES        = 0x0006
	tpmAlgSHA256     = 0x000b
	tpmAlgNull       = 0x0010
	tpmAlgCFB        = 0x0043
	tpmHeader        = 10
	maxTPMAnswer     = 4096
)

// endorsementPolicy is PolicySecret(TPM_RH_ENDORSEMENT), of the template below.
const endorsementPolicy = "837197674484b3f81a90cc8d46a5d724fd52d76e06520b64f2a1da1b331469aa"

// endorsementCommand asks a TPM 2.0 for its endorsement key of RSA 2048: template L-1 of the TCG EK Credential Profile. The TPM makes the same key
// each time, out of its endorsement seed.
func endorsementCommand() []byte {
	policy, err := hex.DecodeString(endorsementPolicy)
	if err != nil {
		panic(err) // a constant
	}
	be := binary.BigEndian
	public := be.AppendUint16(nil, tpmAlgRSA)
	public = be.AppendUint16(public, tpmAlgSHA256)
	public = be.AppendUint32(public, 0x000300b2) // fixedTPM fixedParent sensitiveDataOrigin adminWithPolicy restricted decrypt
	public = append(be.AppendUint16(public, uint16(len(policy))), policy...)
	for _, field := range []uint16{tpmAlgAES, 128, tpmAlgCFB, tpmAlgNull, 2048, 0, 0, 256} { // symmetric, scheme, bits, exponent (32 bits), unique
		public = be.AppendUint16(public, field)
	}
	public = append(public, make([]byte, 256)...)

	body := be.AppendUint32(nil, tpmEndorsement)
	body = be.AppendUint32(body, 9) // of the authorization: a password that is empty
	body = be.AppendUint32(body, tpmPassword)
	body = append(body, 0, 0, 0, 0, 0)
	body = append(body, 0, 4, 0, 0, 0, 0) // TPM2B_SENSITIVE_CREATE: neither authorization nor data
	body = append(be.AppendUint16(body, uint16(len(public))), public...)
	body = append(body, 0, 0, 0, 0, 0, 0) // no outside information, no PCRs

	command := be.AppendUint16(nil, tpmSessions)
	command = be.AppendUint32(command, uint32(tpmHeader+len(body)))
	command = be.AppendUint32(command, tpmCreatePrimary)
	return append(command, body...)
}

var errTPMAnswer = errors.New("the TPM's answer is cut short or not that of an RSA key")

// parseEndorsement reads the key out of an answer: PEM of a PKIX public key.
func parseEndorsement(answer []byte) (string, error) {
	be := binary.BigEndian
	if len(answer) < tpmHeader {
		return "", errTPMAnswer
	}
	if code := be.Uint32(answer[6:]); code != 0 {
		return "", fmt.Errorf("the TPM refuses: code %#x", code)
	}
	r := tpmReader{rest: answer[tpmHeader:]}
	r.skip(4 + 4) // handle, size of the parameters
	r = tpmReader{rest: r.sized()}
	kind := r.uint16()
	r.skip(2 + 4) // hash of the name, attributes
	r.sized()     // policy
	symmetric := r.uint16()
	if symmetric != tpmAlgNull {
		r.skip(2 + 2)
	}
	scheme, bits := r.uint16(), r.uint16()
	exponent := int(r.uint16())<<16 | int(r.uint16())
	modulus := r.sized()
	if r.short || kind != tpmAlgRSA || scheme != tpmAlgNull || len(modulus) == 0 || len(modulus)*8 != int(bits) {
		return "", errTPMAnswer
	}
	if exponent == 0 {
		exponent = 65537
	}
	der, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: new(big.Int).SetBytes(modulus), E: exponent})
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), nil
}

// tpmReader reads what a TPM marshalled. After the end everything is zero.
type tpmReader struct {
	rest  []byte
	short bool
}

func (r *tpmReader) skip(n int) []byte {
	if n > len(r.rest) {
		r.rest, r.short = nil, true
		return nil
	}
	skipped := r.rest[:n]
	r.rest = r.rest[n:]
	return skipped
}

func (r *tpmReader) uint16() uint16 {
	b := r.skip(2)
	if b == nil {
		return 0
	}
	return binary.BigEndian.Uint16(b)
}

func (r *tpmReader) sized() []byte { return r.skip(int(r.uint16())) }

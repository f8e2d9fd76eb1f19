package inspection

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/farrier-dev/farrier/internal/identity"
)

var (
	// ErrTooLarge reports a message that is longer than its limit: HTTP 413.
	ErrTooLarge = errors.New("message too large")
	// ErrMalformed reports a message that cannot be read: HTTP 400. The
	// error that wraps it names the field.
	ErrMalformed = errors.New("malformed message")
	// ErrUnknownMachine reports a message about a machine without a Server: HTTP 404.
	ErrUnknownMachine = errors.New("no Server has this system UUID")
)

// Registration is the body of POST /register, decoded.
type Registration struct {
	// SystemUUID is canonical.
	SystemUUID string
	// Attempt is the boot attempt the report belongs to. It is never read from
	// the body: whoever received the report knows it from the token.
	Attempt string
	// Contested names who else asked for the boot that the report comes from; empty: nobody, or the machine is certain. It is never
	// read from the body.
	Contested string
	Data      Report
	// Raw is the report as it was sent, unknown fields included.
	Raw []byte
}

// BootState is the body of POST /bootstate, decoded.
type BootState struct {
	SystemUUID string
	Attempt    string
	Booted     bool
}

type registrationWire struct {
	SystemUUID string          `json:"systemUUID"`
	Attempt    string          `json:"attempt,omitempty"`
	Data       json.RawMessage `json:"data"`
}

type bootStateWire struct {
	SystemUUID string `json:"systemUUID"`
	Booted     bool   `json:"booted"`
}

// Decode reads one registration of at most limit bytes.
func Decode(r io.Reader, limit int64) (Registration, error) {
	body, err := readLimited(r, limit)
	if err != nil {
		return Registration{}, err
	}
	reg, err := parse(body)
	reg.Attempt = ""
	return reg, err
}

// DecodeBootState reads one boot state message of at most limit bytes.
func DecodeBootState(r io.Reader, limit int64) (BootState, error) {
	body, err := readLimited(r, limit)
	if err != nil {
		return BootState{}, err
	}
	var wire bootStateWire
	if err := unmarshal(body, &wire, ""); err != nil {
		return BootState{}, err
	}
	uuid, err := systemUUID(wire.SystemUUID)
	if err != nil {
		return BootState{}, err
	}
	return BootState{SystemUUID: uuid, Booted: wire.Booted}, nil
}

// Encode is the body that an agent posts to /register.
func Encode(systemUUID string, data Report) ([]byte, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return json.Marshal(registrationWire{SystemUUID: systemUUID, Data: raw})
}

// Encode is the registration as it was sent, for whoever takes it to a manager.
func (r Registration) Encode() ([]byte, error) {
	return json.Marshal(registrationWire{SystemUUID: r.SystemUUID, Data: r.Raw})
}

// EncodeBootState is the body that a machine posts to /bootstate.
func EncodeBootState(systemUUID string, booted bool) ([]byte, error) {
	return json.Marshal(bootStateWire{SystemUUID: systemUUID, Booted: booted})
}

func parse(body []byte) (Registration, error) {
	var wire registrationWire
	if err := unmarshal(body, &wire, ""); err != nil {
		return Registration{}, err
	}
	uuid, err := systemUUID(wire.SystemUUID)
	if err != nil {
		return Registration{}, err
	}
	if len(wire.Data) == 0 || wire.Data[0] != '{' {
		return Registration{}, malformed("data", errors.New("not an object"))
	}
	reg := Registration{SystemUUID: uuid, Attempt: wire.Attempt, Raw: wire.Data}
	if err := unmarshal(wire.Data, &reg.Data, "data"); err != nil {
		return Registration{}, err
	}
	reg.Data.normalise()
	return reg, nil
}

func systemUUID(s string) (string, error) {
	uuid, err := identity.UUID(s)
	if err != nil {
		return "", malformed("systemUUID", err)
	}
	return uuid, nil
}

// normalise brings what older agents and other spellings say into one form.
// What is no address at all stays as it came: a report is evidence, and
// one odd link (InfiniBand has addresses of 20 octets) must not lose the rest.
func (r *Report) normalise() {
	for i := range r.NetworkInterfaces {
		n := &r.NetworkInterfaces[i]
		if n.IPAddress != "" && len(n.IPAddresses) == 0 {
			n.IPAddresses = []string{n.IPAddress}
		}
		n.IPAddress = ""
		n.MACAddress = canonicalMAC(n.MACAddress)
	}
	for i := range r.NICs {
		r.NICs[i].MAC = canonicalMAC(r.NICs[i].MAC)
	}
}

func canonicalMAC(s string) string {
	if mac, err := identity.MAC(s); err == nil {
		return mac
	}
	return s
}

// UnmarshalJSON accepts both forms that agents send.
func (l *LLDP) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var object struct {
			Interfaces []LLDPInterface `json:"interfaces"`
		}
		if err := json.Unmarshal(b, &object); err != nil {
			return err
		}
		*l = object.Interfaces
		return nil
	}
	return json.Unmarshal(b, (*[]LLDPInterface)(l))
}

func readLimited(r io.Reader, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read message: %w", err)
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	}
	return body, nil
}

// unmarshal decodes exactly one JSON value and names the field that is wrong,
// under the field prefix if there is one.
func unmarshal(body []byte, into any, prefix string) error {
	if err := checkShape(body); err != nil {
		return err
	}
	err := json.Unmarshal(bytes.TrimSpace(body), into)
	if err == nil {
		return nil
	}
	field := prefix
	var typeErr *json.UnmarshalTypeError
	if errors.As(err, &typeErr) && typeErr.Field != "" {
		field = joinField(prefix, typeErr.Field)
		err = fmt.Errorf("%s does not fit", typeErr.Value)
	}
	return malformed(field, err)
}

func joinField(prefix, field string) string {
	if prefix == "" {
		return field
	}
	return prefix + "." + field
}

func malformed(field string, err error) error {
	if field == "" {
		field = "body"
	}
	return fmt.Errorf("%w: %s: %w", ErrMalformed, field, err)
}

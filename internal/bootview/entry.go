package bootview

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
)

// Rank says whose word an entry is. A stronger rank hides weaker ones of the
// same machine.
type Rank uint8

const (
	// Stale entries belong to a boot configuration that is not, or not any
	// more, the one its Server refers to. They are never served. It is the zero
	// value on purpose: an entry whose rank nobody decided is not served.
	Stale Rank = iota
	// HandWritten entries have no boot configuration behind them.
	HandWritten
	// Current entries belong to the Server's bootConfigurationRef, or to its
	// maintenance boot configuration while it is in Maintenance.
	Current
)

func (r Rank) String() string {
	switch r {
	case Stale:
		return "Stale"
	case HandWritten:
		return "HandWritten"
	case Current:
		return "Current"
	}
	return fmt.Sprintf("Rank(%d)", uint8(r))
}

// Entry is what one boot object says about one machine.
type Entry struct {
	// Name is unique: "<kind>/<namespace>/<name>". What stands before the
	// first slash is the kind; entries of different kinds combine.
	Name string

	// What the machine can be known by, in any spelling. What is not an
	// identifier, or is a placeholder of a manufacturer, is left out; Check
	// tells.
	UUID   string
	MACs   []string
	IPs    []string
	Serial string

	Rank Rank

	// Script is what /ipxe/{uuid} answers; zero: this entry has none.
	Script Script
	// Ignition is nil when the object refers to none.
	Ignition *Ignition
	// UKIURL is what /httpboot answers.
	UKIURL string

	Attempt Attempt
}

// ErrIgnitionMissing is in Ignition.Err when the Secret or its key is not there,
// as opposed to being there and not translatable.
var ErrIgnitionMissing = errors.New("ignition is referenced but missing")

// Ignition is a payload ready to be sent, or why there is none. The view keeps
// Payload without copying it; it must not be changed afterwards.
type Ignition struct {
	Payload     []byte
	ContentType string
	Err         error
}

// Attempt is the boot that was ordered and that an entry serves.
type Attempt struct {
	ID    string
	Token string
	Open  bool
}

// IsOpen says whether scripts may carry the token and ignition may be read. What
// no attempt stands behind (written by hand, another lifecycle's) is always open.
func (a Attempt) IsOpen() bool { return a.ID == "" || a.Open }

// Check names the identifiers of e that a view leaves out, and why. An entry
// that fails it is still served under its other identifiers.
func Check(e Entry) error {
	var errs []error
	refuse := func(field, value string) {
		errs = append(errs, fmt.Errorf("%s: %q identifies no machine", field, value))
	}
	if e.Name == "" {
		errs = append(errs, errors.New("name: required"))
	}
	if _, ok := parseUUID(e.UUID); !ok && e.UUID != "" {
		refuse("systemUUID", e.UUID)
	}
	for i, mac := range e.MACs {
		if _, ok := parseMAC(mac); !ok {
			refuse(fmt.Sprintf("macs[%d]", i), mac)
		}
	}
	for i, ip := range e.IPs {
		if _, ok := parseIP(ip); !ok {
			refuse(fmt.Sprintf("ips[%d]", i), ip)
		}
	}
	if _, ok := parseSerial(e.Serial); !ok && e.Serial != "" {
		refuse("serial", e.Serial)
	}
	return errors.Join(errs...)
}

// entry is an Entry as the view keeps it: identifiers are keys, the rest is as
// it came. It is never changed.
type entry struct {
	name     string
	uuid     string // canonical, empty if the entry has none
	keys     []any  // every identifier but the token, the UUID first
	token    any    // tokenKey, nil without an open attempt
	rank     Rank
	script   Script
	ignition *Ignition
	ukiURL   string
	attempt  Attempt
}

func newEntry(e Entry) *entry {
	n := &entry{
		name: e.Name, rank: e.Rank, script: e.Script,
		ignition: e.Ignition, ukiURL: e.UKIURL, attempt: e.Attempt,
		keys: make([]any, 0, 2+len(e.MACs)+len(e.IPs)),
	}
	if key, ok := parseUUID(e.UUID); ok {
		n.uuid = key.String()
		n.keys = append(n.keys, key)
	}
	for _, mac := range e.MACs {
		if key, ok := parseMAC(mac); ok {
			n.addKey(key)
		}
	}
	for _, ip := range e.IPs {
		if key, ok := parseIP(ip); ok {
			n.addKey(key)
		}
	}
	if key, ok := parseSerial(e.Serial); ok {
		n.keys = append(n.keys, key)
	}
	if e.Attempt.Open && e.Attempt.Token != "" {
		n.token = tokenKey(sha256.Sum256([]byte(e.Attempt.Token)))
	}
	return n
}

func (e *entry) addKey(key any) {
	for _, k := range e.keys {
		if k == key {
			return
		}
	}
	e.keys = append(e.keys, key)
}

func (e *entry) kind() string {
	kind, _, _ := strings.Cut(e.name, "/")
	return kind
}

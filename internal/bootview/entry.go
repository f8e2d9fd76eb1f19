package bootview

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/farrier-dev/farrier/internal/identity"
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
	// Site is where the machine stands, by which the boot server chooses the base of its answers; empty: the default one.
	Site string

	// Script is what /ipxe/{uuid} answers; zero: this entry has none.
	Script Script
	// Ignition is nil when the object refers to none.
	Ignition *Ignition
	// BootsFile says that firmware fetches what it boots itself, and FileURL from where, which /httpboot answers; empty: nothing yet, or
	// no longer.
	BootsFile bool
	FileURL   string

	Attempt Attempt
	Terms   Terms

	// Version is the resource version of the newest object that the entry was made of; 0: of none. It decides nothing here.
	Version uint64
}

// ErrIgnitionMissing is in Ignition.Err when the Secret or its key is not there,
// as opposed to being there and not translatable.
var ErrIgnitionMissing = errors.New("ignition is referenced but missing")

// ErrIgnitionWithheld is in Ignition.Err of a boot server that is not given the payload, because the boot is not open.
var ErrIgnitionWithheld = errors.New("ignition is withheld until the boot is open")

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
	// Clean is how thoroughly the machine is to be cleaned in this boot; empty: not at all.
	Clean string
}

// IsOpen reports whether scripts may carry the token and ignition may be read. What
// no attempt stands behind (written by hand, another lifecycle's) is always open.
func (a Attempt) IsOpen() bool { return a.ID == "" || a.Open }

// Terms are what controllers know of an attempt that decides who has a part in it.
type Terms struct {
	// Server is the name of the machine's Server; empty: it has none.
	Server string
	// Seen is when the BMC showed the machine on for this attempt; zero: not yet, and until then nothing of it is for anybody.
	Seen time.Time
	// Repeats says that the machine may boot again by itself at any time, so that its secrets never close for whom the first boot bound
	// them to. Others close for good.
	Repeats bool
	// Bound is whom the session was bound to, as far as that was kept.
	Bound Caller
	// BMCToken is given to the BMC alone, in the URL that it boots; empty: nothing is.
	BMCToken string
	// Inspected says that the machine was looked at from inside before: all its MAC addresses are known.
	Inspected bool
	// BindFirst binds what no attempt stands behind to its first reader; it names what is bound, and changes when that is to begin anew.
	BindFirst string
}

// session names the session of the entry; empty: it has none, because no boot is under way, or because nobody asked for one.
func (e *Entry) session() string {
	switch {
	case e.Attempt.ID != "" && e.Attempt.Open:
		return e.Attempt.ID
	case e.Attempt.ID == "" && e.Terms.BindFirst != "":
		return "first reader of " + e.Terms.BindFirst
	}
	return ""
}

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
// it came. It is never changed once it is linked.
type entry struct {
	// What is asked for most comes first, so that it lies close together.
	script   Script
	attempt  Attempt
	session  *Session // set by the view
	ignition *Ignition
	name     string
	fileURL  unique.Handle[string] // the machines of an image have one
	site     unique.Handle[string]
	uuid     string // canonical, empty if the entry has none
	keys     []key  // every identifier, the UUID first and the tokens last
	// alone is what slots have that have no other entry: self.
	alone     carriers
	self      [1]*entry
	rank      Rank
	bootsFile bool
}

// nameOrNone is empty for no entry.
func (e *entry) nameOrNone() string {
	if e == nil {
		return ""
	}
	return e.name
}

func newEntry(e Entry) *entry {
	n := &entry{
		name: e.Name, rank: e.Rank, script: e.Script,
		ignition: e.Ignition, fileURL: unique.Make(e.FileURL), bootsFile: e.BootsFile, site: unique.Make(e.Site), attempt: e.Attempt,
		keys: make([]key, 0, 3+len(e.MACs)+len(e.IPs)),
	}
	if own, token := e.Script.own, e.Attempt.Token; token != "" && strings.HasSuffix(own, token) {
		n.attempt.Token = own[len(own)-len(token):] // it is kept once
	}
	if k, ok := parseUUID(e.UUID); ok {
		n.uuid, _ = identity.UUID(e.UUID)
		n.add(k)
	}
	for _, mac := range e.MACs {
		if k, ok := parseMAC(mac); ok {
			n.add(k)
		}
	}
	for _, ip := range e.IPs {
		if k, ok := parseIP(ip); ok {
			n.add(k)
		}
	}
	if k, ok := parseSerial(e.Serial); ok {
		n.add(k)
	}
	if e.Attempt.Open && e.Attempt.Token != "" {
		n.add(hashed(keyToken, e.Attempt.Token))
	}
	if e.Attempt.Open && e.Terms.BMCToken != "" {
		n.add(hashed(keyBMCToken, e.Terms.BMCToken))
	}
	return n
}

// share has e keep once, together with another entry of its machine, what both have.
func (e *entry) share(o *entry) {
	if e.uuid == o.uuid {
		e.uuid = o.uuid
	}
	if e.attempt == o.attempt {
		e.attempt = o.attempt
	}
	if slices.Equal(e.keys, o.keys) {
		e.keys = o.keys
	}
}

func (e *entry) add(k key) {
	if !slices.Contains(e.keys, k) {
		e.keys = append(e.keys, k)
	}
}

// tokens are the keys of the tokens of an open attempt.
func (e *entry) tokens() []key {
	first := len(e.keys)
	for first > 0 && e.keys[first-1].isToken() {
		first--
	}
	return e.keys[first:]
}

// known returns the identifiers that e's own machine is found by: the UUID alone
// if there is one.
func (e *entry) known() []key {
	if e.uuid != "" {
		return e.keys[:1]
	}
	return e.keys
}

func (e *entry) kind() string {
	kind, _, _ := strings.Cut(e.name, "/")
	return kind
}

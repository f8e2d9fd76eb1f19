package bootview

import (
	"crypto/subtle"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
)

// Status says how a lookup ended.
type Status uint8

const (
	// Unknown: no entry that is to be served names this machine.
	Unknown Status = iota
	// Found: the machine is there.
	Found
	// Conflict: entries contradict each other; Machine.Conflict names them.
	Conflict
	// Unsynced: the view is not complete yet, so nothing can be said. Answering
	// "unknown" would send a known machine elsewhere.
	Unsynced
)

func (s Status) String() string {
	switch s {
	case Unknown:
		return "Unknown"
	case Found:
		return "Found"
	case Conflict:
		return "Conflict"
	case Unsynced:
		return "Unsynced"
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

// View is the boot view. Its zero value is not usable; see New.
//
// A reader sees each identifier as it was before or after a write, never
// between. It may see two identifiers of one machine change one after the other.
type View struct {
	synced atomic.Bool
	index  index

	mu       sync.Mutex        // taken by writers only
	entries  map[string]*entry // by name
	sessions sessions
	observer Observer[Entry]
	touched  touchedKeys // what replace uses, again each time
}

// Observer is told of changes in their order, while whoever changes holds a lock: it must be quick, must not wait for anybody, and
// must not ask what it observes. What it is given is shared and must not be changed.
type Observer[T any] struct {
	// Put is told what there is of a name from now on, and Deleted that there is nothing any longer. Both are set, or none.
	Put     func(T)
	Deleted func(name string)
}

func (o Observer[T]) put(what T) {
	if o.Put != nil {
		o.Put(what)
	}
}

func (o Observer[T]) deleted(name string) {
	if o.Deleted != nil {
		o.Deleted(name)
	}
}

// Observe has o told of every entry. It is called once, before the first entry.
func (v *View) Observe(o Observer[Entry]) { v.observer = o }

// New returns an empty view that is not synchronised.
func New() *View { return &View{entries: make(map[string]*entry), sessions: sessions{}} }

// SetSynced reports whether the view holds everything there is. Until then every
// lookup answers Unsynced.
func (v *View) SetSynced(synced bool) { v.synced.Store(synced) }

// Synced reports what SetSynced said last.
func (v *View) Synced() bool { return v.synced.Load() }

// ByUUID finds a machine by its SMBIOS UUID in any spelling.
func (v *View) ByUUID(uuid string) (*Machine, Status) {
	k, ok := parseUUID(uuid)
	if !ok {
		return v.none()
	}
	return v.lookup(k)
}

// Find looks for the UUID, then for the MAC, then for the serial number: a machine
// whose BMC reports no UUID is known by the others. Where two machines say that they have one UUID, the second has none on
// record; it is known by its MAC, which is on record of no machine with a UUID then.
func (v *View) Find(uuid, mac, serial string) (*Machine, Status) {
	m, status := v.ByUUID(uuid)
	if status == Unsynced {
		return m, status
	}
	if k, ok := parseMAC(mac); ok {
		o, known := v.lookup(k)
		switch {
		case status == Unknown && known != Unknown:
			return o, known
		case known == Found && o.UUID == "" && o.Attempt().ID != "": // what somebody wrote by hand may go with any UUID
			return o, known
		}
	}
	if status != Unknown {
		return m, status
	}
	if k, ok := parseSerial(serial); ok {
		return v.lookup(k)
	}
	return v.none()
}

// ByAddress finds a machine by an IP or a MAC in any spelling.
func (v *View) ByAddress(address string) (*Machine, Status) {
	// Six groups of two digits are never an IPv6 address, whereas other
	// spellings of a MAC can be; an IP is tried first for those.
	const canonicalMAC = len("00:00:00:00:00:00")
	if len(address) == canonicalMAC {
		if k, ok := parseMAC(address); ok && (address[2] == ':' || address[2] == '-') {
			return v.lookup(k)
		}
	}
	if k, ok := parseIP(address); ok {
		return v.lookup(k)
	}
	if k, ok := parseMAC(address); ok {
		return v.lookup(k)
	}
	return v.none()
}

// ByIP is ByAddress for an address that is parsed already.
func (v *View) ByIP(a netip.Addr) (*Machine, Status) {
	k, ok := ipKey(a)
	if !ok {
		return v.none()
	}
	return v.lookup(k)
}

// ByToken finds the machine whose open attempt has this token.
func (v *View) ByToken(token string) (*Machine, bool) {
	if token == "" {
		return nil, false
	}
	m, status := v.lookup(hashed(keyToken, token))
	if status != Found || !m.Attempt().Open {
		return nil, false
	}
	return m, m.HasToken(token)
}

// ByBMCToken finds the machine whose BMC was given this token for the open attempt.
func (v *View) ByBMCToken(token string) (*Machine, bool) {
	if token == "" {
		return nil, false
	}
	m, status := v.lookup(hashed(keyBMCToken, token))
	if status != Found || !m.Attempt().Open {
		return nil, false
	}
	session := m.Session()
	return m, session != nil && subtle.ConstantTimeCompare([]byte(session.Terms().BMCToken), []byte(token)) == 1
}

// Interface says whose a MAC address is: m's own, as far as is known, or that of others.
func (v *View) Interface(mac string, m *Machine) (own, others bool) {
	k, ok := parseMAC(mac)
	if !ok {
		return false, false
	}
	owner, status := v.lookup(k)
	switch status {
	case Found:
		return owner.Same(m), !owner.Same(m)
	case Conflict:
		mine := slices.Contains(owner.rivals(), m.UUID)
		return mine, !mine
	}
	return false, false
}

// HasToken compares in constant time, and says no while the attempt is closed.
func (m *Machine) HasToken(token string) bool {
	boot := m.Attempt()
	return boot.Open && boot.Token != "" && subtle.ConstantTimeCompare([]byte(boot.Token), []byte(token)) == 1
}

// BelongsToOther reports whether a is known as an address of machines other than m,
// and not of m.
func (v *View) BelongsToOther(a netip.Addr, m *Machine) bool {
	owner, status := v.ByIP(a)
	switch status {
	case Found:
		return !owner.Same(m)
	case Conflict:
		return !slices.Contains(owner.rivals(), m.UUID) && !owner.Same(m)
	}
	return false
}

func (v *View) none() (*Machine, Status) {
	if !v.synced.Load() {
		return nil, Unsynced
	}
	return nil, Unknown
}

func (v *View) lookup(k key) (*Machine, Status) {
	if !v.synced.Load() {
		return nil, Unsynced
	}
	m := v.index.machine(k)
	switch {
	case m == nil:
		return nil, Unknown
	case m.conflict != nil:
		return m, Conflict
	}
	return m, Found
}

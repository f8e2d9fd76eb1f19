package bootview

import (
	"crypto/sha256"
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

// View is the index. Its zero value is not usable; see New.
//
// A reader sees each identifier as it was before or after a write, never
// between. It may see two identifiers of one machine change one after the other.
type View struct {
	synced atomic.Bool
	slots  sync.Map // key (keys.go) → *slot

	mu      sync.Mutex        // taken by writers only
	entries map[string]*entry // by name
}

// slot is what one identifier stands for.
type slot struct {
	machine atomic.Pointer[Machine]
	entries []*entry // sorted by name; View.mu
}

// New returns an empty view that is not synchronised.
func New() *View { return &View{entries: make(map[string]*entry)} }

// SetSynced says whether the view holds everything there is. Until then every
// lookup answers Unsynced.
func (v *View) SetSynced(synced bool) { v.synced.Store(synced) }

// Synced reports what SetSynced said last.
func (v *View) Synced() bool { return v.synced.Load() }

// ByUUID finds a machine by its SMBIOS UUID in any spelling.
func (v *View) ByUUID(uuid string) (*Machine, Status) {
	key, ok := parseUUID(uuid)
	if !ok {
		return v.none()
	}
	return v.lookup(key)
}

// Find looks for the UUID, then for the MAC, then for the serial number: a machine
// whose BMC reports no UUID is known by the others.
func (v *View) Find(uuid, mac, serial string) (*Machine, Status) {
	if m, status := v.ByUUID(uuid); status != Unknown {
		return m, status
	}
	if key, ok := parseMAC(mac); ok {
		if m, status := v.lookup(key); status != Unknown {
			return m, status
		}
	}
	if key, ok := parseSerial(serial); ok {
		return v.lookup(key)
	}
	return v.none()
}

// ByAddress finds a machine by an IP or a MAC in any spelling.
func (v *View) ByAddress(address string) (*Machine, Status) {
	// Six groups of two digits are never an IPv6 address, whereas other
	// spellings of a MAC can be; an IP is tried first for those.
	const canonicalMAC = len("00:00:00:00:00:00")
	if len(address) == canonicalMAC {
		if key, ok := parseMAC(address); ok && (address[2] == ':' || address[2] == '-') {
			return v.lookup(key)
		}
	}
	if key, ok := parseIP(address); ok {
		return v.lookup(key)
	}
	if key, ok := parseMAC(address); ok {
		return v.lookup(key)
	}
	return v.none()
}

// ByIP is ByAddress for an address that is parsed already.
func (v *View) ByIP(a netip.Addr) (*Machine, Status) {
	if !a.IsValid() {
		return v.none()
	}
	return v.lookup(canonicalAddr(a))
}

// ByToken finds the machine whose open attempt has this token.
func (v *View) ByToken(token string) (*Machine, bool) {
	if token == "" {
		return nil, false
	}
	m, status := v.lookup(tokenKey(sha256.Sum256([]byte(token))))
	if status != Found || !m.Attempt.Open {
		return nil, false
	}
	return m, m.HasToken(token)
}

// HasToken compares in constant time, and says no while the attempt is closed.
func (m *Machine) HasToken(token string) bool {
	return m.Attempt.Open && m.Attempt.Token != "" &&
		subtle.ConstantTimeCompare([]byte(m.Attempt.Token), []byte(token)) == 1
}

// BelongsToOther says whether a is known as an address of machines other than m,
// and not of m.
func (v *View) BelongsToOther(a netip.Addr, m *Machine) bool {
	owner, status := v.ByIP(a)
	switch status {
	case Found:
		return !owner.Same(m)
	case Conflict:
		return !slices.Contains(owner.rivals, m.UUID) && !owner.Same(m)
	}
	return false
}

func (v *View) none() (*Machine, Status) {
	if !v.synced.Load() {
		return nil, Unsynced
	}
	return nil, Unknown
}

func (v *View) lookup(key any) (*Machine, Status) {
	if !v.synced.Load() {
		return nil, Unsynced
	}
	s, ok := v.slots.Load(key)
	if !ok {
		return nil, Unknown
	}
	m := s.(*slot).machine.Load()
	switch {
	case m == nil:
		return nil, Unknown
	case len(m.Conflict) > 0:
		return m, Conflict
	}
	return m, Found
}

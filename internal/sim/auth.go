package sim

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// The predefined roles (DSP0266, "Roles").
const (
	roleAdministrator = "Administrator"
	roleOperator      = "Operator"
	roleReadOnly      = "ReadOnly"
)

var roles = []string{roleAdministrator, roleOperator, roleReadOnly}

const (
	maxAccounts = 16
	minPassword = 8
	maxUserName = 32
)

type account struct {
	id, user, role string
	password       [sha256.Size]byte
	enabled        bool
}

// caller is who sends a request. The zero value is nobody.
type caller struct {
	account, role string
	session       string // empty: Basic
}

// digest makes passwords comparable in constant time, whatever their length.
func digest(s string) [sha256.Size]byte { return sha256.Sum256([]byte(s)) }

// authenticate finds out who sends a request. A token that is not good is not
// made up for by a password that is.
func (b *bmc) authenticate(r *http.Request) (caller, error) {
	if token := r.Header.Get("X-Auth-Token"); token != "" {
		return b.bySession(token)
	}
	user, password, ok := r.BasicAuth()
	if !ok {
		return caller{}, errUnauthorized
	}
	a, err := b.byPassword(user, password)
	if err != nil {
		return caller{}, err
	}
	b.stats.add(func(s *Stats) { s.BasicLogins++ })
	return caller{account: a.id, role: a.role}, nil
}

// byPassword looks at every account, so that how long it takes says nothing.
func (b *bmc) byPassword(user, password string) (account, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	userDigest, passwordDigest := digest(user), digest(password)
	var found account
	for _, a := range b.accounts {
		want := digest(a.user)
		if subtle.ConstantTimeCompare(userDigest[:], want[:])&subtle.ConstantTimeCompare(passwordDigest[:], a.password[:]) == 1 && a.enabled {
			found = a
		}
	}
	if b.lockedOutLocked(found.id != "") {
		return account{}, errLocked
	}
	if found.id == "" {
		return account{}, errUnauthorized
	}
	return found, nil
}

// lockedOutLocked counts wrong passwords while a fault locks accounts, and says
// whether there have been too many for even a right one to help.
func (b *bmc) lockedOutLocked(right bool) bool {
	s, ok := b.struck(fault.AccountLocked, "")
	if !ok {
		return false
	}
	if b.lockID != s.ID {
		b.lockID, b.wrongPasswords = s.ID, 0
	}
	if b.wrongPasswords >= s.Value.Count {
		return true
	}
	if b.wrongPasswords++; right {
		b.wrongPasswords = 0
	}
	return false
}

// locked reports whether that is so, without a password.
func (b *bmc) locked() bool {
	s, ok := b.struck(fault.AccountLocked, "")
	b.mu.Lock()
	defer b.mu.Unlock()
	return ok && (s.Value.Count == 0 || b.lockID == s.ID && b.wrongPasswords >= s.Value.Count)
}

func (b *bmc) setPassword(id, password string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.accounts {
		if b.accounts[i].id == id {
			b.accounts[i].password = digest(password)
		}
	}
	b.dropSessionsLocked(func(s session) bool { return s.account == id })
}

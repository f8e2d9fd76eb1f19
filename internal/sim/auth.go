package sim

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"time"
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
	// changed is when the password was set; zero: before the rack was started.
	changed time.Time
	// wrong counts wrong passwords in a row since the fault lockID began to lock accounts.
	wrong  int
	lockID string
	filler bool // of a fault; nobody logs in with it
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
	if errors.Is(err, errExpired) && r.Method == http.MethodPatch && r.URL.Path == accountsURI+"/"+a.id {
		return caller{account: a.id, role: roleReadOnly}, nil // may change the password, and nothing else
	}
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
	named, found := -1, -1
	for i, a := range b.accounts {
		want := digest(a.user)
		rightName := subtle.ConstantTimeCompare(userDigest[:], want[:])
		if rightName == 1 {
			named = i
		}
		if rightName&subtle.ConstantTimeCompare(passwordDigest[:], a.password[:]) == 1 && a.enabled && !a.filler {
			found = i
		}
	}
	if named >= 0 && found < 0 {
		b.stats.add(func(s *Stats) { s.WrongPasswords++ })
	}
	if b.lockedOutLocked(named, found >= 0) {
		return account{}, errLocked
	}
	if found < 0 {
		return account{}, errUnauthorized
	}
	if _, expired := b.expiryLocked(b.accounts[found]); expired {
		return b.accounts[found], errExpired
	}
	return b.accounts[found], nil
}

func (b *bmc) setPassword(id, password string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.accounts {
		if b.accounts[i].id == id {
			b.accounts[i].password, b.accounts[i].changed = digest(password), b.rack.opts.Clock.Now()
		}
	}
	b.dropSessionsLocked(func(s session) bool { return s.account == id })
}

package sim

import (
	"fmt"
	"strconv"
	"time"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// lockedOutLocked counts wrong passwords for an account, the one at an index, while a fault locks accounts. It reports
// whether there have been too many for even a right one to help.
func (b *bmc) lockedOutLocked(index int, right bool) bool {
	s, ok := b.struck(fault.AccountLocked, "")
	switch {
	case !ok:
		return false
	case s.Value.Count == 0:
		return true
	case index < 0:
		return false
	}
	a := &b.accounts[index]
	if b.lockedLocked(*a) {
		return true
	}
	if a.lockID != s.ID {
		a.lockID, a.wrong = s.ID, 0
	}
	if a.wrong++; right {
		a.wrong = 0
	}
	return false
}

// lockedLocked reports whether an account is locked.
func (b *bmc) lockedLocked(a account) bool {
	s, ok := b.struck(fault.AccountLocked, "")
	return ok && (s.Value.Count == 0 || a.lockID == s.ID && a.wrong >= s.Value.Count)
}

// expiryLocked is when the password of an account expires, by the clock of the rack, and whether it has. Zero: it does not.
func (b *bmc) expiryLocked(a account) (at time.Time, expired bool) {
	s, ok := b.struck(fault.PasswordExpiry, "")
	switch {
	case !ok:
		return time.Time{}, false
	case s.Value.Duration == 0 && a.changed.Before(s.Since):
		return s.Since, true
	case s.Value.Duration == 0:
		return time.Time{}, false
	}
	at = a.changed
	if at.Before(s.Since) {
		at = s.Since
	}
	at = at.Add(s.Value.Duration)
	return at, !b.rack.opts.Clock.Now().Before(at)
}

// showExpiryLocked puts into an account what ManagerAccount v1.3.0 and newer say of its password, by the clock of the BMC.
func (b *bmc) showExpiryLocked(a account, body object) {
	if _, ok := b.struck(fault.PasswordExpiry, ""); !ok || a.user == "" {
		return
	}
	at, expired := b.expiryLocked(a)
	body["PasswordChangeRequired"], body["PasswordExpiration"] = expired, nil
	if !at.IsZero() {
		at = at.Add(b.now().Sub(b.rack.opts.Clock.Now())).UTC().Truncate(time.Second)
		body["PasswordExpiration"] = at.Format(time.RFC3339)
	}
}

// fillAccountsLocked takes all the room there is for accounts, once a fault: whoever deletes one has room. It gives the room back
// when the fault is over.
func (b *bmc) fillAccountsLocked() {
	s, ok := b.struck(fault.AccountTableFull, "")
	if b.accountsFilledBy == s.ID {
		return
	}
	b.accountsFilledBy = s.ID
	b.accounts = withoutFillers(b.accounts)
	if !ok {
		return
	}
	for id := range b.freeAccountsLocked() {
		b.accounts = append(b.accounts, account{id: id, user: "somebody-" + id, role: roleReadOnly, enabled: true, filler: true})
	}
}

func withoutFillers(all []account) (kept []account) {
	for _, a := range all {
		if !a.filler {
			kept = append(kept, a)
		}
	}
	return kept
}

// freeAccountsLocked are the IDs that new accounts can have: those of empty slots, or the next ones.
func (b *bmc) freeAccountsLocked() func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if b.quirks.slots == 0 {
			for len(b.accounts) < maxAccounts && yield(b.nextAccountIDLocked()) {
			}
			return
		}
		for _, id := range ids("", b.quirks.slots) {
			if a, err := b.accountLocked(id); err == nil && a.user == "" && !b.reserved(id) && !yield(id) {
				return
			}
		}
	}
}

// nextAccountIDLocked is the ID of the account that is made next.
func (b *bmc) nextAccountIDLocked() string {
	id := strconv.Itoa(b.nextAccount)
	for ; id == b.quirks.adminID; id = strconv.Itoa(b.nextAccount) {
		b.nextAccount++
	}
	b.nextAccount++
	return id
}

// reserved reports whether an ID is that of the anonymous user's slot.
func (b *bmc) reserved(id string) bool {
	return b.quirks.slots > 0 && id == "1" && id != b.quirks.adminID
}

// passwordLengths are how long passwords may be, as AccountService says.
func (b *bmc) passwordLengths() (shortest, longest int) {
	if s, ok := b.struck(fault.PasswordsRefused, ""); ok && s.Value.Text == "rules" {
		return b.quirks.longestPassword + 1, b.quirks.longestPassword
	}
	return minPassword, b.quirks.longestPassword
}

// takesPassword refuses a change of a password while a fault refuses all. As some BMCs do, it repeats the password.
func (b *bmc) takesPassword(body object) error {
	password, sets := body["Password"]
	if _, ok := b.struck(fault.PasswordsRefused, ""); !ok || !sets {
		return nil
	}
	f := errPasswordForm("The value '%2' for the property '%1' does not fit the rules for passwords.")
	f.args = append(f.args, fmt.Sprint(password))
	return f
}

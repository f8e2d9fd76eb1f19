package bmc

import (
	"context"
	"errors"
	"fmt"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// rotationEnd is what a job of a rotation came to.
type rotationEnd string

const (
	passwordUnknown  rotationEnd = ""                 // nobody knows; the old one or the new one holds
	passwordMade     rotationEnd = "PasswordMade"     // and nothing was changed
	passwordSet      rotationEnd = "PasswordSet"      // the new one holds
	passwordRefused  rotationEnd = "PasswordRefused"  // the old one holds, and trying again does not help
	passwordsRefused rotationEnd = "PasswordsRefused" // the BMC takes neither
)

// rotationWork is what a job of a rotation does at the BMC. Its fields below are set by the job and read after it
// has ended.
type rotationWork struct {
	username  string
	old, next bmc.Secret
	// doubt says that the BMC may have the new password already; last that it is given up if it has not.
	doubt, last bool

	end  rotationEnd
	made bmc.Secret
}

// measure makes a password as the BMC wants them. That there is an account to give it to is found out before anything is
// written down.
func (w *rotationWork) measure(ctx context.Context, s fleet.Services) error {
	rules, err := s.PasswordRules(ctx)
	if err != nil {
		return w.outright(err)
	}
	if _, err := w.account(ctx, s); err != nil {
		return err
	}
	password, err := rules.NewPassword()
	if err != nil {
		return w.refuse(err)
	}
	w.end, w.made = passwordMade, password
	return nil
}

// set gives the account the new password. An order of which no answer came is never repeated before it is known
// what became of it: at most one login is refused for that, and a good one follows it.
func (w *rotationWork) set(ctx context.Context, s fleet.Services) error {
	if w.doubt {
		if over, err := w.clear(ctx, s); over || err != nil {
			return err
		}
	}
	account, err := w.account(ctx, s)
	if err != nil {
		return err
	}
	if err := s.SetPassword(ctx, account, w.next); err != nil {
		return w.outright(err)
	}
	err = s.Verify(ctx, w.with(w.next))
	if bmc.KindOf(err) != bmc.KindAuthentication {
		w.end = passwordSet // it said so; that it has no room for one more session is no objection
		return nil
	}
	return w.back(ctx, s, account)
}

// clear finds out which password holds. over: it is the new one, or none.
func (w *rotationWork) clear(ctx context.Context, s fleet.Services) (over bool, _ error) {
	err := s.Verify(ctx, w.with(w.next))
	if err == nil {
		w.end = passwordSet
		return true, nil
	}
	if bmc.KindOf(err) != bmc.KindAuthentication {
		return false, err
	}
	err = s.Verify(ctx, w.with(w.old))
	switch {
	case bmc.KindOf(err) == bmc.KindAuthentication:
		w.end = passwordsRefused
		return true, nil
	case err != nil:
		return false, err
	case w.last:
		return true, w.refuse(errors.New("the BMC accepts the new password and keeps the old one"))
	}
	return false, nil
}

// back undoes a change after which the BMC refuses the password that it took: some cut long ones off. The session that
// made the change usually outlives it.
func (w *rotationWork) back(ctx context.Context, s fleet.Services, account bmc.Account) error {
	err := s.SetPassword(ctx, account, w.old)
	switch {
	case bmc.KindOf(err) == bmc.KindAuthentication:
		w.end = passwordsRefused
		return nil // the fleet need not find that out once more
	case err != nil:
		return err
	}
	return w.refuse(errors.New("the BMC took the new password, refused a login with it, and has the old one again"))
}

func (w *rotationWork) account(ctx context.Context, s fleet.Services) (bmc.Account, error) {
	account, found, err := s.FindAccount(ctx, w.username)
	switch {
	case err != nil:
		return account, w.outright(err)
	case !found:
		return account, w.refuse(fmt.Errorf("the BMC lists no account %q", w.username))
	}
	return account, nil
}

// outright notes the errors that mean that nothing was changed and will not be.
func (w *rotationWork) outright(err error) error {
	switch bmc.KindOf(err) {
	case bmc.KindRejected, bmc.KindUnsupported:
		return w.refuse(err)
	}
	return err
}

func (w *rotationWork) refuse(err error) error {
	w.end = passwordRefused
	return err
}

func (w *rotationWork) with(password bmc.Secret) bmc.Credentials {
	return bmc.Credentials{Username: w.username, Password: password}
}

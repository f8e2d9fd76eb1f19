package rotation

import (
	"context"
	"errors"
	"fmt"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// End is what a job of a rotation came to.
type End string

const (
	Unknown     End = ""                 // nobody knows; the old one or the new one holds
	Made        End = "PasswordMade"     // and nothing was changed
	Set         End = "PasswordSet"      // the new one holds
	Refused     End = "PasswordRefused"  // the old one holds, and trying again does not help
	BothRefused End = "PasswordsRefused" // the BMC takes neither
)

// Work is what a job of a rotation does at the BMC. End and what follows it are set by the job and read after it has ended.
type Work struct {
	Username  string
	Old, Next bmc.Secret
	// Doubt says that the BMC may have the new password already; Last that it is given up if it has not.
	Doubt, Last bool

	End  End
	Made bmc.Secret
	// OldHolds says that the BMC has taken the old password, before it was told the new one once more.
	OldHolds bool
}

// errKept is why a rotation is given up whose orders have had no certain end.
var errKept = errors.New("the BMC accepts the new password and keeps the old one")

// Measure makes a password as the BMC wants them. That there is an account to give it to is found out before anything is
// written down.
func (w *Work) Measure(ctx context.Context, s fleet.Services) error {
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
	w.End, w.Made = Made, password
	return nil
}

// Set gives the account the new password. An order of which no answer came is never repeated before it is known
// what became of it: at most one login is refused for that, and a good one follows it.
func (w *Work) Set(ctx context.Context, s fleet.Services) error {
	if w.Doubt {
		if over, err := w.clear(ctx, s); over || err != nil {
			return err
		}
	}
	account, err := w.account(ctx, s)
	if err != nil {
		return err
	}
	if err := s.SetPassword(ctx, account, w.Next); err != nil {
		return w.outright(err)
	}
	err = s.Verify(ctx, w.with(w.Next))
	if bmc.KindOf(err) != bmc.KindAuthentication {
		w.End = Set // it said so; that it has no room for one more session is no objection
		return nil
	}
	return w.back(ctx, s, account)
}

// clear finds out which password holds. over: it is the new one, or none.
func (w *Work) clear(ctx context.Context, s fleet.Services) (over bool, _ error) {
	err := s.Verify(ctx, w.with(w.Next))
	if err == nil {
		w.End = Set
		return true, nil
	}
	if bmc.KindOf(err) != bmc.KindAuthentication {
		return false, err
	}
	err = s.Verify(ctx, w.with(w.Old))
	switch {
	case bmc.KindOf(err) == bmc.KindAuthentication:
		w.End = BothRefused
		return true, nil
	case err != nil:
		return false, err
	case w.Last:
		return true, w.refuse(errKept)
	}
	w.OldHolds = true
	return false, nil
}

// back undoes a change after which the BMC refuses the password that it took: some cut long ones off. The session that
// made the change usually outlives it.
func (w *Work) back(ctx context.Context, s fleet.Services, account bmc.Account) error {
	err := s.SetPassword(ctx, account, w.Old)
	switch {
	case bmc.KindOf(err) == bmc.KindAuthentication:
		w.End = BothRefused
		return nil // the fleet need not find that out once more
	case err != nil:
		return err
	}
	return w.refuse(errors.New("the BMC took the new password, refused a login with it, and has the old one again"))
}

func (w *Work) account(ctx context.Context, s fleet.Services) (bmc.Account, error) {
	account, found, err := s.FindAccount(ctx, w.Username)
	switch {
	case err != nil:
		return account, w.outright(err)
	case !found:
		return account, w.refuse(fmt.Errorf("the BMC lists no account %q", w.Username))
	}
	return account, nil
}

// outright notes the errors that mean that nothing was changed and will not be.
func (w *Work) outright(err error) error {
	switch bmc.KindOf(err) {
	case bmc.KindRejected, bmc.KindUnsupported:
		return w.refuse(err)
	}
	return err
}

func (w *Work) refuse(err error) error {
	w.End = Refused
	return err
}

func (w *Work) with(password bmc.Secret) bmc.Credentials {
	return bmc.Credentials{Username: w.Username, Password: password}
}

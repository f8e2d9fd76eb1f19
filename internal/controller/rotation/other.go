package rotation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

var (
	// ErrOwnAccount means that Farrier logs in to the BMC with the account, which is then no other account.
	ErrOwnAccount = errors.New("Farrier logs in to the BMC with this account")
	// ErrRoleUnknown means that the BMC has no such role.
	ErrRoleUnknown = errors.New("the BMC has no such role")
	// ErrVerifyRefused means that the BMC took a password and then refused a login with it.
	ErrVerifyRefused = errors.New("the BMC took the new password and refused a login with it")
)

// Other is Work for an account that Farrier does not log in with. Its password can be set again at any time, so an order
// of which no answer came is repeated: no login is ever refused to find out what became of it, and no account locks for that.
type Other struct {
	Work
	Role string
	// Given is the password that a person wants; empty: one is made.
	Given bmc.Secret

	// Unsure says that the BMC refused the password, and may have it from an attempt before, of which no answer came.
	Unsure bool
	// Account is the account as the BMC has it, once it has; Existed says that it was there before.
	Account bmc.Account
	Existed bool
}

// Measure makes a password as the BMC wants them, or compares the given one with what it wants, and finds out before anything
// is written down whether the account may be made or changed.
func (o *Other) Measure(ctx context.Context, s fleet.Services) error {
	if err := o.own(ctx, s); err != nil {
		return err
	}
	rules, err := s.PasswordRules(ctx)
	if err != nil {
		return o.outright(err)
	}
	if err := o.role(ctx, s); err != nil {
		return err
	}
	if o.Account, o.Existed, err = s.FindAccount(ctx, o.Username); err != nil {
		return o.outright(err)
	}
	password := o.Given
	if password == "" {
		password, err = rules.NewPassword()
	} else {
		err = rules.Check(password)
	}
	if err != nil {
		return o.refuse(err)
	}
	o.End, o.Made = Made, password
	return nil
}

// Set makes the account with the new password, or gives it to the account that there is, and logs in with it.
func (o *Other) Set(ctx context.Context, s fleet.Services) error {
	if err := o.own(ctx, s); err != nil {
		return err
	}
	account, found, err := s.FindAccount(ctx, o.Username)
	if err != nil {
		return o.outright(err)
	}
	o.Existed = found
	if found {
		err = o.change(ctx, s, account, o.Next)
	} else {
		account, err = s.CreateAccount(ctx, bmc.AccountSpec{Username: o.Username, Password: o.Next, Role: o.Role})
	}
	if bmc.KindOf(err) == bmc.KindRejected && found && s.Verify(ctx, o.with(o.Next)) == nil {
		err = nil // it has the password, and some take none twice
	}
	if err != nil {
		return o.refused(ctx, s, err)
	}
	o.Account = account
	if err := s.Verify(ctx, o.with(o.Next)); bmc.KindOf(err) == bmc.KindAuthentication {
		return o.undo(ctx, s, account)
	}
	o.End = Set // it said so; that it has no room for one more session is no objection
	if now, found, err := s.FindAccount(ctx, o.Username); err == nil && found {
		o.Account = now // when the password expires is said after the change
	}
	return nil
}

// refused notes that the BMC refused the password. An attempt before may have reached it all the same; then a login with the old
// password tells.
func (o *Other) refused(ctx context.Context, s fleet.Services, err error) error {
	err = o.outright(err)
	if o.End == Refused && o.Doubt && o.Existed {
		o.Unsure = o.Old == "" || s.Verify(ctx, o.with(o.Old)) != nil
	}
	return err
}

// Look reads the account. One that the BMC does not list has no ID.
func (o *Other) Look(ctx context.Context, s fleet.Services) error {
	var err error
	o.Account, o.Existed, err = s.FindAccount(ctx, o.Username)
	return err
}

// Remove deletes the account, unless Farrier logs in with it.
func (o *Other) Remove(ctx context.Context, s fleet.Services) error {
	if err := o.own(ctx, s); err != nil {
		return err
	}
	account, found, err := s.FindAccount(ctx, o.Username)
	if err != nil || !found {
		return err
	}
	return s.DeleteAccount(ctx, account)
}

func (o *Other) own(ctx context.Context, s fleet.Services) error {
	if s.LogsInAs(ctx, o.Username) {
		return o.refuse(fmt.Errorf("user name %q: %w", o.Username, ErrOwnAccount))
	}
	return nil
}

// role asks whether the BMC has the role. One that lists none is not asked further: it says so when the account is made.
func (o *Other) role(ctx context.Context, s fleet.Services) error {
	roles, err := s.Roles(ctx)
	switch {
	case bmc.Unreachable(err):
		return err
	case err != nil || len(roles) == 0 || slices.Contains(roles, o.Role):
		return nil
	}
	return o.refuse(fmt.Errorf("role %q: %w; it has %s", o.Role, ErrRoleUnknown, strings.Join(roles[:min(len(roles), 16)], ", ")))
}

func (o *Other) change(ctx context.Context, s fleet.Services, account bmc.Account, password bmc.Secret) error {
	account.Role, account.Enabled = o.Role, true
	return s.SetAccount(ctx, account, password)
}

// undo takes back a password that the BMC took and refuses a login with: some cut long ones off. An account that somebody has locked
// refuses every password; that is no fault of this one.
func (o *Other) undo(ctx context.Context, s fleet.Services, account bmc.Account) error {
	now, found, err := s.FindAccount(ctx, o.Username)
	switch {
	case err != nil:
		return err
	case found && now.Locked:
		o.End = BothRefused
		return nil
	case !o.Existed:
		err = s.DeleteAccount(ctx, account)
	case o.Old != "":
		err = o.change(ctx, s, account, o.Old)
	}
	if err != nil {
		return err
	}
	return o.refuse(ErrVerifyRefused)
}

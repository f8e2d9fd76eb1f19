package controllertest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// lockAfter is how many wrong passwords lock one of the other accounts.
const lockAfter = 3

// Accounts are the accounts of a fake BMC beside the one that the fleet logs in with. They lock after three wrong passwords.
type Accounts struct {
	// Room is how many there may be; 0: many. Rules are those of passwords, Roles those of accounts.
	Room  int
	Rules bmc.PasswordRules
	Roles []string
	// Truncates makes the BMC keep as many characters of a password; 0: all.
	Truncates int
	// Valid is how long a password is valid; 0: for ever. Now is when.
	Valid time.Duration
	Now   func() time.Time
	// OnChange is asked what a change comes to: whether it is made, and the answer. It must not ask the BMC for anything.
	OnChange func(username string) (made bool, answer error)
	// Lockouts counts the accounts that have been locked.
	Lockouts int

	all    []other
	nextID int
}

type other struct {
	account  bmc.Account
	password string
	wrong    int
}

// OtherAccounts changes or reads the other accounts.
func (b *BMC) OtherAccounts(do func(*Accounts)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do(&b.accounts)
}

// Account is what there is of a user.
func (a *Accounts) Account(username string) (account bmc.Account, password string, found bool) {
	if i := a.at(username); i >= 0 {
		return a.all[i].account, a.all[i].password, true
	}
	return bmc.Account{}, "", false
}

// Change changes the account of a user, as somebody does at the BMC.
func (a *Accounts) Change(username string, change func(*bmc.Account)) {
	if i := a.at(username); i >= 0 {
		change(&a.all[i].account)
	}
}

// Drop deletes the account of a user, as somebody does at the BMC.
func (a *Accounts) Drop(username string) {
	a.all = slices.DeleteFunc(a.all, func(o other) bool { return o.account.Username == username })
}

func (a *Accounts) at(username string) int {
	return slices.IndexFunc(a.all, func(o other) bool { return o.account.Username == username })
}

// changing is what a change comes to.
func (a *Accounts) changing(username string) (bool, error) {
	if a.OnChange == nil {
		return true, nil
	}
	return a.OnChange(username)
}

func (a *Accounts) give(o *other, password bmc.Secret) {
	o.password, o.wrong, o.account.Locked, o.account.MustChange = password.Reveal(), 0, false, false
	if a.Truncates > 0 && len(o.password) > a.Truncates {
		o.password = o.password[:a.Truncates]
	}
	if a.Valid > 0 {
		o.account.PasswordExpires = a.Now().Add(a.Valid)
	}
}

// logIn tries a password.
func (a *Accounts) logIn(i int, password string) error {
	o := &a.all[i]
	if !o.account.Locked && o.account.Enabled && o.password == password {
		o.wrong = 0
		return nil
	}
	if o.wrong++; o.wrong == lockAfter {
		o.account.Locked = true
		a.Lockouts++
	}
	return &bmc.Error{Kind: bmc.KindAuthentication, Op: "POST Sessions", StatusCode: http.StatusUnauthorized, Err: bmc.ErrNotVerified}
}

func (c *connection) Roles(context.Context) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.accounts.Roles, c.answer("GET Roles")
}

func (c *connection) LogsInAs(_ context.Context, username string) bool {
	return username == account.Username
}

func (c *connection) CreateAccount(_ context.Context, spec bmc.AccountSpec) (bmc.Account, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.answer("POST Accounts"); err != nil {
		return bmc.Account{}, err
	}
	a := &c.accounts
	if a.at(spec.Username) >= 0 {
		return bmc.Account{}, &bmc.Error{Kind: bmc.KindRejected, Op: "POST Accounts", StatusCode: http.StatusBadRequest, MessageID: "ResourceAlreadyExists"}
	}
	if a.Room > 0 && len(a.all) >= a.Room {
		return bmc.Account{}, &bmc.Error{Kind: bmc.KindUnsupported, Op: "POST Accounts", Err: bmc.ErrNoFreeAccount}
	}
	made, err := a.changing(spec.Username)
	a.nextID++
	o := other{account: bmc.Account{URI: fmt.Sprintf("/redfish/v1/AccountService/Accounts/%d", a.nextID+2), ID: fmt.Sprint(a.nextID + 2), Username: spec.Username, Role: spec.Role, Enabled: true}}
	a.give(&o, spec.Password)
	if made {
		a.all = append(a.all, o)
	}
	return o.account, err
}

func (c *connection) SetAccount(_ context.Context, to bmc.Account, password bmc.Secret) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.answer("PATCH " + to.URI); err != nil {
		return err
	}
	a := &c.accounts
	i := a.at(to.Username)
	if i < 0 {
		return &bmc.Error{Kind: bmc.KindRejected, Op: "PATCH " + to.URI, StatusCode: http.StatusNotFound}
	}
	made, err := a.changing(to.Username)
	if made {
		a.all[i].account.Role, a.all[i].account.Enabled = to.Role, to.Enabled
		a.give(&a.all[i], password)
	}
	return err
}

func (c *connection) DeleteAccount(_ context.Context, gone bmc.Account) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.answer("DELETE " + gone.URI); err != nil {
		return err
	}
	made, err := c.accounts.changing(gone.Username)
	if made {
		c.accounts.Drop(gone.Username)
	}
	return err
}

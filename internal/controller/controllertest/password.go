package controllertest

import (
	"context"
	"errors"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// Password is the one that the BMC wants now.
func (b *BMC) Password() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.password
}

// OnPassword is asked what a change of the password comes to: whether it is made, and the answer. It runs while the
// BMC is at work, and must not ask it for anything.
func (b *BMC) OnPassword(fn func(next string) (made bool, answer error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onPassword = fn
}

// Sets returns how often the BMC was told a new password.
func (b *BMC) Sets() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sets
}

// account is the one that the fleet logs in with; its name is "u".
var account = bmc.Account{URI: "/redfish/v1/AccountService/Accounts/2", ID: "2", Username: "u", Role: "Administrator", Enabled: true}

func (c *connection) PasswordRules(context.Context) (bmc.PasswordRules, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rules := c.accounts.Rules
	if rules == (bmc.PasswordRules{}) {
		rules = bmc.PasswordRules{MinLength: 12, MaxLength: 16}
	}
	return rules, c.answer("GET AccountService")
}

func (c *connection) FindAccount(_ context.Context, username string) (bmc.Account, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, _, ok := c.accounts.Account(username); ok {
		return found, true, c.answer("GET " + found.URI)
	}
	return account, username == account.Username, c.answer("GET " + account.URI)
}

func (c *connection) SetPassword(_ context.Context, _ bmc.Account, password bmc.Secret) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.answer("PATCH " + account.URI); err != nil {
		return err
	}
	c.sets++
	made, err := true, error(nil)
	if c.onPassword != nil {
		made, err = c.onPassword(password.Reveal())
	}
	if made {
		c.BMC.password = password.Reveal()
	}
	if made && err == nil {
		c.password = password.Reveal()
	}
	return err
}

func (c *connection) Verify(_ context.Context, credentials bmc.Credentials) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.accounts.at(credentials.Username); i >= 0 && c.err == nil {
		return c.accounts.logIn(i, credentials.Password.Reveal())
	}
	own := c.password
	c.password = credentials.Password.Reveal()
	err := c.answer("POST Sessions")
	c.password = own
	if e, ok := errors.AsType[*bmc.Error](err); ok {
		marked := *e
		marked.Err = bmc.ErrNotVerified
		return &marked
	}
	return err
}

func (c *connection) Uses(_ context.Context, credentials bmc.Credentials) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.password == credentials.Password.Reveal()
}

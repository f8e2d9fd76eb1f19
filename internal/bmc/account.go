package bmc

import (
	"context"
	"errors"
	"net/http"
	"path"
	"strings"
	"time"
)

// Account is a user of a BMC, or a slot for one: Username is empty then.
type Account struct {
	URI      string
	ID       string
	Username string
	Role     string // RoleId: Administrator, Operator, ReadOnly, …
	Enabled  bool
	Locked   bool
	// MustChange says that the BMC refuses logins until the password is changed.
	MustChange bool
	// PasswordExpires is when the BMC takes the password no longer; zero: never, or it does not say.
	PasswordExpires time.Time
	ETag            string
}

// AccountService is what a BMC says of its accounts.
type AccountService struct {
	MinPasswordLength int // zero: it does not say
	MaxPasswordLength int
	accounts, roles   string
}

// AccountSpec is an account to be made.
type AccountSpec struct {
	Username string
	Password Secret
	Role     string // Administrator where empty
}

// ErrNoFreeAccount: all slots for accounts are in use.
var ErrNoFreeAccount = errors.New("the BMC has no free account")

// firstSlot is where a service with slots keeps its anonymous or built-in user: that one
// is nobody's to give away.
const firstSlot = "1"

type accountServiceBody struct {
	MinPasswordLength number
	MaxPasswordLength number
	Accounts, Roles   link
}

type accountBody struct {
	ID       text `json:"@odata.id"`
	Name     text `json:"Id"`
	ETag     text `json:"@odata.etag"`
	UserName text
	RoleID   text `json:"RoleId"`
	Enabled  bool
	Locked   bool
	Expires  text `json:"PasswordExpiration"`
	Change   bool `json:"PasswordChangeRequired"`
}

func (b *accountBody) account(uri, etag string) Account {
	a := Account{
		URI: uri, ID: string(b.Name), Username: string(b.UserName), Role: string(b.RoleID),
		Enabled: b.Enabled, Locked: b.Locked, MustChange: b.Change, ETag: etag,
	}
	if etag == "" {
		a.ETag = string(b.ETag)
	}
	if at, err := time.Parse(time.RFC3339, string(b.Expires)); err == nil {
		a.PasswordExpires = at
	}
	return a
}

// AccountService reads what passwords a BMC takes.
func (c *Client) AccountService(ctx context.Context) (AccountService, error) {
	root, err := c.root(ctx)
	if err != nil {
		return AccountService{}, err
	}
	uri := root.Accounts.or("/redfish/v1/AccountService")
	var body accountServiceBody
	if _, err := c.get(ctx, uri, &body); err != nil {
		return AccountService{}, err
	}
	return AccountService{
		MinPasswordLength: int(body.MinPasswordLength.count()),
		MaxPasswordLength: int(body.MaxPasswordLength.count()),
		accounts:          body.Accounts.or(uri + "/Accounts"),
		roles:             string(body.Roles),
	}, nil
}

// Accounts reads all accounts, free slots included.
func (c *Client) Accounts(ctx context.Context) ([]Account, error) {
	service, err := c.AccountService(ctx)
	if err != nil {
		return nil, err
	}
	return c.accounts(ctx, service)
}

func (c *Client) accounts(ctx context.Context, service AccountService) ([]Account, error) {
	list, unread, err := c.readAccounts(ctx, service)
	if err == nil && len(list) == 0 {
		err = unread
	}
	return list, err
}

// readAccounts also returns why some account could not be read, if one could not.
func (c *Client) readAccounts(ctx context.Context, service AccountService) (list []Account, unread, err error) {
	uris, err := c.members(ctx, service.accounts)
	if err != nil {
		return nil, nil, err
	}
	for _, uri := range uris {
		a, err := c.account(ctx, uri)
		switch {
		case err == nil:
			list = append(list, a)
		case Unreachable(err):
			return nil, nil, err
		default:
			unread = err
		}
	}
	return list, unread, nil
}

func (c *Client) account(ctx context.Context, uri string) (Account, error) {
	var body accountBody
	etag, err := c.get(ctx, uri, &body)
	if err != nil {
		return Account{}, err
	}
	return body.account(uri, etag), nil
}

// FindAccount reads the account of a user. That there is none is said only where every account could be read.
func (c *Client) FindAccount(ctx context.Context, username string) (Account, bool, error) {
	service, err := c.AccountService(ctx)
	if err != nil {
		return Account{}, false, err
	}
	list, unread, err := c.readAccounts(ctx, service)
	if err != nil {
		return Account{}, false, err
	}
	for _, a := range list {
		if a.Username == username {
			return a, true, nil
		}
	}
	return Account{}, false, unread
}

// Roles lists the roles that accounts can have; none: the BMC does not say.
func (c *Client) Roles(ctx context.Context) ([]string, error) {
	service, err := c.AccountService(ctx)
	if err != nil || service.roles == "" {
		return nil, err
	}
	uris, err := c.members(ctx, service.roles)
	if err != nil {
		return nil, err
	}
	var roles []string
	for _, uri := range uris {
		roles = append(roles, path.Base(uri))
	}
	return roles, nil
}

// CreateAccount makes an account: by POST, or in the first free slot where the
// BMC has slots (405).
func (c *Client) CreateAccount(ctx context.Context, spec AccountSpec) (Account, error) {
	if spec.Username == "" || spec.Password == "" {
		return Account{}, c.unsupported("create account", "user name and password must not be empty")
	}
	if spec.Role == "" {
		spec.Role = "Administrator"
	}
	service, err := c.AccountService(ctx)
	if err != nil {
		return Account{}, err
	}
	body := map[string]any{
		"UserName": spec.Username, "Password": spec.Password.Reveal(), "RoleId": spec.Role, "Enabled": true,
	}
	r := call{method: http.MethodPost, path: service.accounts, body: body, hide: spec.Password}
	a, err := c.do(ctx, r)
	if e, ok := errors.AsType[*Error](err); ok {
		switch {
		case e.StatusCode == http.StatusMethodNotAllowed:
			return c.fillSlot(ctx, service, spec, body)
		case e.MessageID == "CreateLimitReachedForResource":
			full := *e
			full.Err = ErrNoFreeAccount
			return Account{}, &full
		}
	}
	if err != nil {
		return Account{}, err
	}
	if uri, ok := resourcePath(a.header.Get("Location")); ok {
		return c.account(ctx, uri)
	}
	return c.named(ctx, service, spec.Username)
}

// fillSlot takes the first free slot that is not the service's own.
func (c *Client) fillSlot(ctx context.Context, service AccountService, spec AccountSpec, body map[string]any) (Account, error) {
	list, err := c.accounts(ctx, service)
	if err != nil {
		return Account{}, err
	}
	for _, slot := range list {
		if slot.Username != "" || slot.ID == firstSlot || strings.HasSuffix(slot.URI, "/"+firstSlot) {
			continue
		}
		r := call{method: http.MethodPatch, path: slot.URI, body: body, ifMatch: slot.ETag, hide: spec.Password}
		if _, err := c.change(ctx, r); err != nil {
			return Account{}, err
		}
		return c.account(ctx, slot.URI)
	}
	e := c.unsupported("create account", "all %d accounts are in use", len(list))
	e.Err = ErrNoFreeAccount
	return Account{}, e
}

func (c *Client) named(ctx context.Context, service AccountService, username string) (Account, error) {
	list, err := c.accounts(ctx, service)
	if err != nil {
		return Account{}, err
	}
	for _, a := range list {
		if a.Username == username {
			return a, nil
		}
	}
	return Account{}, c.protocolError("create account", "the BMC accepted the account and does not list it")
}

// SetPassword changes an account's password. Where the account is the client's own, the
// client goes on with the new one; a BMC that ends the account's sessions costs one login.
//
// After an error without an answer nobody knows which password holds; [Client.Verify] tells.
func (c *Client) SetPassword(ctx context.Context, a Account, password Secret) error {
	q, err := c.serviceQuirks(ctx)
	if err != nil {
		return err
	}
	body := map[string]any{"Password": password.Reveal()}
	if q.accountWhole {
		body["RoleId"], body["Enabled"] = a.Role, a.Enabled
	}
	_, changed := c.change(ctx, call{method: http.MethodPatch, path: a.URI, body: body, ifMatch: a.ETag, hide: password})
	if err := c.take(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	defer c.release()
	if changed != nil {
		c.doubt(a, changed)
		return changed
	}
	if a.Username == c.credentials.Username {
		c.credentials = &Credentials{Username: a.Username, Password: password}
		c.trust()
	}
	return nil
}

// SetAccount gives an account of another user its role, a password, and whether it is enabled, together, and unlocks it if it
// is locked. Doing it again is no harm.
func (c *Client) SetAccount(ctx context.Context, a Account, password Secret) error {
	body := map[string]any{"Password": password.Reveal(), "RoleId": a.Role, "Enabled": a.Enabled}
	if a.Locked {
		body["Locked"] = false
	}
	_, err := c.change(ctx, call{method: http.MethodPatch, path: a.URI, body: body, ifMatch: a.ETag, hide: password})
	return err
}

// LogsInAs reports whether the client logs in with a user's account. Some BMCs take user names in any case.
func (c *Client) LogsInAs(ctx context.Context, username string) bool {
	if c.take(ctx) != nil {
		return true // not known to be another's
	}
	defer c.release()
	return strings.EqualFold(c.credentials.Username, username)
}

// DeleteAccount deletes an account, or frees its slot where the BMC deletes none.
func (c *Client) DeleteAccount(ctx context.Context, a Account) error {
	q, err := c.serviceQuirks(ctx)
	if err != nil {
		return err
	}
	r := call{method: http.MethodDelete, path: a.URI, ifMatch: a.ETag}
	_, err = c.change(ctx, r)
	e, ok := errors.AsType[*Error](err)
	switch {
	case ok && e.StatusCode == http.StatusNotFound:
		return nil // gone is what was wanted
	case ok && e.StatusCode == http.StatusMethodNotAllowed && q.blankAccount:
		return c.patch(ctx, a.URI, a.ETag, map[string]any{"UserName": "", "Enabled": false})
	}
	return err
}

// ErrNotVerified marks the errors of [Client.Verify]: they say nothing of the client's own
// account.
var ErrNotVerified = errors.New("credentials not verified")

// Verify makes a session with credentials and deletes it: an answer of 401 is an error of
// kind Authentication. The client's own session and credentials stay as they are.
func (c *Client) Verify(ctx context.Context, credentials Credentials) error {
	err := c.verify(ctx, credentials)
	if e, ok := errors.AsType[*Error](err); ok {
		marked := *e
		marked.Err = errors.Join(ErrNotVerified, e.Err)
		return &marked
	}
	return err
}

func (c *Client) verify(ctx context.Context, credentials Credentials) (err error) {
	other := NewClient(c.endpoint, credentials, c.options)
	other.connection = c.connection
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.release()
	defer func() {
		if credentials == *c.credentials {
			c.learn(err)
		}
	}()
	if other.noContext, other.basic, other.hadSession = c.noContext, c.basic, c.hadSession; other.basic == "" {
		if err := other.login(ctx); err != nil {
			return err
		}
	}
	if other.basic != "" { // known before, or found out by the login
		if c.session == nil {
			c.useBasic(other.basic) // what one account has found out holds for the BMC
		}
		_, err := other.do(ctx, call{method: http.MethodGet, path: systemsPath})
		return err
	}
	return other.logout(ctx)
}

// Uses reports whether the client works with these credentials.
func (c *Client) Uses(ctx context.Context, credentials Credentials) bool {
	if c.take(ctx) != nil {
		return false
	}
	defer c.release()
	return *c.credentials == credentials
}

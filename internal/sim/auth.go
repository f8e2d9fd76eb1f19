package sim

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// The predefined roles (DSP0266, "Roles").
const (
	roleAdministrator = "Administrator"
	roleOperator      = "Operator"
	roleReadOnly      = "ReadOnly"
)

var roles = []string{roleAdministrator, roleOperator, roleReadOnly}

const (
	firstAccountID = "1"
	maxAccounts    = 16
	minPassword    = 8
	maxPassword    = 64
	maxUserName    = 32
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
	if found.id == "" {
		return account{}, errUnauthorized
	}
	return found, nil
}

func (b *bmc) account(id string) (account, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.accounts, func(a account) bool { return a.id == id })
	if i < 0 {
		return account{}, errNotFound(accountsURI + "/" + id)
	}
	return b.accounts[i], nil
}

func (b *bmc) accountIDs() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := make([]string, len(b.accounts))
	for i, a := range b.accounts {
		ids[i] = a.id
	}
	return ids
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

func getAccount(b *bmc, r *http.Request) (object, error) {
	a, err := b.account(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return object{
		"@odata.id": accountsURI + "/" + a.id, "@odata.type": "#ManagerAccount.v1_12_0.ManagerAccount",
		"Id": a.id, "Name": "User Account", "UserName": a.user, "Password": nil, "RoleId": a.role, "Enabled": a.enabled,
		"Locked": false, "AccountTypes": []string{"Redfish"},
		"Links": object{"Role": link(rolesURI + "/" + a.role)},
	}, nil
}

func postAccount(b *bmc, c caller, _ *http.Request, body object) (answer, error) {
	if c.role != roleAdministrator {
		return answer{}, errPrivilege
	}
	a := account{enabled: true, role: roleReadOnly}
	for _, required := range []string{"UserName", "Password", "RoleId"} {
		if _, ok := body[required]; !ok {
			return answer{}, errMissing(required)
		}
	}
	if err := a.apply(body); err != nil {
		return answer{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.ContainsFunc(b.accounts, func(other account) bool { return other.user == a.user }) {
		return answer{}, &failure{status: http.StatusBadRequest, id: "ResourceAlreadyExists", text: "The requested resource of type %1 with the property %2 with the value '%3' already exists.", args: []string{"ManagerAccount", "UserName", a.user}}
	}
	if len(b.accounts) >= maxAccounts {
		return answer{}, &failure{status: http.StatusBadRequest, id: "CreateLimitReachedForResource", text: "The create operation failed because the resource has reached the limit of possible resources."}
	}
	a.id = strconv.Itoa(b.nextAccount)
	b.nextAccount++
	b.accounts = append(b.accounts, a)
	return answer{status: http.StatusCreated, header: map[string]string{"Location": accountsURI + "/" + a.id}}, nil
}

// patchAccount lets everybody change their own password, and administrators
// everything (DSP0266 §13.4).
func patchAccount(b *bmc, c caller, r *http.Request, body object) error {
	id := r.PathValue("id")
	_, passwordOnly := body["Password"]
	passwordOnly = passwordOnly && len(body) == 1 && c.account == id
	if c.role != roleAdministrator && !passwordOnly {
		return errPrivilege
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.accounts, func(a account) bool { return a.id == id })
	if i < 0 {
		return errNotFound(r.URL.Path)
	}
	changed := b.accounts[i]
	if err := changed.apply(body); err != nil {
		return err
	}
	b.accounts[i] = changed
	b.dropSessionsLocked(func(s session) bool { return s.account == id && s.id != c.session })
	return nil
}

func deleteAccount(b *bmc, c caller, r *http.Request) error {
	id := r.PathValue("id")
	if c.role != roleAdministrator {
		return errPrivilege
	}
	if _, err := b.account(id); err != nil {
		return err
	}
	if id == firstAccountID {
		return &failure{status: http.StatusMethodNotAllowed, id: "ResourceCannotBeDeleted", text: "The delete request failed because the resource requested cannot be deleted."}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.accounts = slices.DeleteFunc(b.accounts, func(a account) bool { return a.id == id })
	b.dropSessionsLocked(func(s session) bool { return s.account == id })
	return nil
}

// apply sets what a body says.
func (a *account) apply(body object) error {
	for name, value := range body {
		text, isText := value.(string)
		switch name {
		case "Enabled":
			enabled, ok := value.(bool)
			if !ok {
				return errValueType(name)
			}
			a.enabled = enabled
			continue
		case "UserName", "Password", "RoleId":
			if !isText {
				return errValueType(name)
			}
		case "AccountTypes", "Locked":
			continue
		default:
			return errUnknownProperty(name)
		}
		if err := a.applyText(name, text); err != nil {
			return err
		}
	}
	return nil
}

func (a *account) applyText(name, text string) error {
	outside := func(shortest, longest int) *failure {
		if len(text) >= shortest && len(text) <= longest {
			return nil
		}
		return &failure{status: http.StatusBadRequest, id: "PropertyValueFormatError", text: "The value for the property '%1' must have between %2 and %3 characters.", args: []string{name, fmt.Sprint(shortest), fmt.Sprint(longest)}, related: "/" + name}
	}
	switch name {
	case "UserName":
		if f := outside(1, maxUserName); f != nil {
			return f
		}
		a.user = text
	case "Password":
		if f := outside(minPassword, maxPassword); f != nil {
			return f
		}
		a.password = digest(text)
	case "RoleId":
		if !slices.Contains(roles, text) {
			return errValue(name, text)
		}
		a.role = text
	}
	return nil
}

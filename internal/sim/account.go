package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// account finds an account. Where accounts are slots, an empty one is an
// account without a name.
func (b *bmc) account(id string) (account, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fillAccountsLocked()
	return b.accountLocked(id)
}

func (b *bmc) accountLocked(id string) (account, error) {
	if i := slices.IndexFunc(b.accounts, func(a account) bool { return a.id == id }); i >= 0 {
		return b.accounts[i], nil
	}
	if slices.Contains(ids("", b.quirks.slots), id) {
		return account{id: id, role: roleReadOnly}, nil
	}
	return account{}, errNotFound(accountsURI + "/" + id)
}

func (b *bmc) accountIDs() []string {
	if b.quirks.slots > 0 {
		return ids("", b.quirks.slots)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fillAccountsLocked()
	out := make([]string, len(b.accounts))
	for i, a := range b.accounts {
		out[i] = a.id
	}
	return out
}

// keepLocked puts a changed account in its place. One without a name is an
// empty slot, of which nothing is kept.
func (b *bmc) keepLocked(a account) {
	b.accounts = slices.DeleteFunc(b.accounts, func(old account) bool { return old.id == a.id })
	if a.user != "" {
		b.accounts = append(b.accounts, a)
	}
}

func getAccount(b *bmc, r *http.Request) (object, error) {
	a, err := b.account(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	body := object{
		"@odata.id": accountsURI + "/" + a.id, "@odata.type": "#ManagerAccount.v1_12_0.ManagerAccount",
		"Id": a.id, "Name": "User Account", "UserName": a.user, "Password": nil, "RoleId": a.role, "Enabled": a.enabled,
		"Locked": b.lockedLocked(a), "AccountTypes": []string{"Redfish"},
		"Links": object{"Role": link(rolesURI + "/" + a.role)},
	}
	b.showExpiryLocked(a, body)
	return body, nil
}

// slotMethods: where accounts are slots, none is made.
func slotMethods(b *bmc) []string {
	if b.quirks.slots > 0 {
		return []string{http.MethodPost}
	}
	return nil
}

// undeletable: nor is one deleted at some BMCs.
func undeletable(b *bmc) []string {
	if b.quirks.noAccountDelete {
		return []string{http.MethodDelete}
	}
	return nil
}

func postAccount(b *bmc, c caller, _ *http.Request, body object) (answer, error) {
	if c.role != roleAdministrator {
		return answer{}, errPrivilege
	}
	a := account{enabled: true, role: roleReadOnly, changed: b.rack.opts.Clock.Now()}
	for _, required := range []string{"UserName", "Password", "RoleId"} {
		if _, ok := body[required]; !ok {
			return answer{}, errMissing(required)
		}
	}
	if err := b.takesPassword(body); err != nil {
		return answer{}, err
	}
	if err := a.apply(b.quirks, body); err != nil {
		return answer{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fillAccountsLocked()
	if err := b.nameTakenLocked(a); err != nil {
		return answer{}, err
	}
	if len(b.accounts) >= maxAccounts {
		return answer{}, &failure{status: http.StatusBadRequest, id: "CreateLimitReachedForResource", text: "The create operation failed because the resource has reached the limit of possible resources."}
	}
	a.id = b.nextAccountIDLocked()
	b.accounts = append(b.accounts, a)
	return answer{status: http.StatusCreated, header: map[string]string{"Location": accountsURI + "/" + a.id}}, nil
}

func (b *bmc) nameTakenLocked(a account) error {
	if slices.ContainsFunc(b.accounts, func(other account) bool { return other.user == a.user && other.id != a.id }) {
		return &failure{status: http.StatusBadRequest, id: "ResourceAlreadyExists", text: "The requested resource of type %1 with the property %2 with the value '%3' already exists.", args: []string{"ManagerAccount", "UserName", a.user}}
	}
	return nil
}

// patchAccount lets everybody change their own password, and administrators
// everything (DSP0266 §13.4).
func patchAccount(b *bmc, c caller, r *http.Request, body object) error {
	id := r.PathValue("id")
	_, setsPassword := body["Password"]
	if own := setsPassword && len(body) == 1 && c.account == id; c.role != roleAdministrator && !own {
		return errPrivilege
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fillAccountsLocked()
	changed, err := b.accountLocked(id)
	if err != nil {
		return err
	}
	blanks := body["UserName"] == "" && b.quirks.slots > 0
	switch {
	case b.reserved(id):
		return errReadOnly("UserName") // the anonymous user's
	case blanks && id == b.quirks.adminID:
		return errReadOnly("UserName")
	case blanks:
		changed = account{id: id}
	default:
		if err := b.together(body); err != nil {
			return err
		}
		if err := b.takesPassword(body); err != nil {
			return err
		}
		if err := changed.apply(b.quirks, body); err != nil {
			return err
		}
		if setsPassword {
			changed.changed = b.rack.opts.Clock.Now()
		}
		changed.filler = false
		if err := b.nameTakenLocked(changed); err != nil {
			return err
		}
	}
	b.keepLocked(changed)
	b.dropSessionsLocked(func(s session) bool { return s.account == id && s.id != c.session })
	return nil
}

// together refuses a change of some of what belongs together.
func (b *bmc) together(body object) error {
	given := 0
	for _, name := range b.quirks.accountTogether {
		if _, ok := body[name]; ok {
			given++
		}
	}
	if given == 0 || given == len(b.quirks.accountTogether) {
		return nil
	}
	for _, name := range b.quirks.accountTogether {
		if _, ok := body[name]; !ok {
			return errMissing(name)
		}
	}
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
	if id == b.quirks.adminID {
		return &failure{status: http.StatusMethodNotAllowed, id: "ResourceCannotBeDeleted", text: "The delete request failed because the resource requested cannot be deleted."}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keepLocked(account{id: id})
	b.dropSessionsLocked(func(s session) bool { return s.account == id })
	return nil
}

// apply sets what a body says.
func (a *account) apply(quirks *personality, body object) error {
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
		case "AccountTypes":
			continue
		case "Locked": // only a service locks; a client unlocks
			if value == false {
				a.wrong = 0
			}
			continue
		default:
			return errUnknownProperty(name)
		}
		if err := a.applyText(quirks, name, text); err != nil {
			return err
		}
	}
	return nil
}

func (a *account) applyText(quirks *personality, name, text string) error {
	outside := func(shortest, longest int) error {
		if len(text) >= shortest && len(text) <= longest {
			return nil
		}
		return &failure{status: http.StatusBadRequest, id: "PropertyValueFormatError", text: "The value for the property '%1' must have between %2 and %3 characters.", args: []string{name, fmt.Sprint(shortest), fmt.Sprint(longest)}, related: "/" + name}
	}
	switch name {
	case "UserName":
		if err := outside(1, maxUserName); err != nil {
			return err
		}
		a.user = text
	case "Password":
		if err := outside(minPassword, quirks.longestPassword); err != nil {
			return err
		}
		if strings.ContainsFunc(text, func(r rune) bool { return !quirks.passwordMay(r) }) {
			return errPasswordForm("The value for the property '%1' has characters that are not allowed.")
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

func errPasswordForm(text string) *failure {
	return &failure{status: http.StatusBadRequest, id: "PropertyValueFormatError", text: text, args: []string{"Password"}, related: "/Password"}
}

// passwordMay reports whether a character may be in a password.
func (p *personality) passwordMay(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return true
	case p.passwordSymbols == "":
		return r >= ' ' && r <= '~'
	default:
		return strings.ContainsRune(p.passwordSymbols, r)
	}
}

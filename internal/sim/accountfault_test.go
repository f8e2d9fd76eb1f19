package sim

import (
	"net/http"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// makeAccount makes an account in the way of the vendor. It returns what the last request was answered; nil: no slot is empty.
func (c *client) makeAccount(b *bmc, user, password string) *reply {
	c.t.Helper()
	body := object{"UserName": user, "Password": password, "RoleId": roleReadOnly, "Enabled": true}
	if b.quirks.slots == 0 {
		r := c.do(http.MethodPost, accountsURI, body)
		return &r
	}
	c.wantError(http.StatusMethodNotAllowed, "OperationNotAllowed", http.MethodPost, accountsURI, body)
	for _, uri := range odataIDs(c.want(http.StatusOK, http.MethodGet, accountsURI, nil).body["Members"]) {
		if !strings.HasSuffix(uri, "/1") && c.want(http.StatusOK, http.MethodGet, uri, nil).body["UserName"] == "" {
			r := c.do(http.MethodPatch, uri, body)
			return &r
		}
	}
	return nil
}

func (c *client) accountOf(user string) (uri string) {
	c.t.Helper()
	for _, uri := range odataIDs(c.want(http.StatusOK, http.MethodGet, accountsURI, nil).body["Members"]) {
		if c.want(http.StatusOK, http.MethodGet, uri, nil).body["UserName"] == user {
			return uri
		}
	}
	c.t.Fatalf("no account %s", user)
	return ""
}

// TestAFullTableOfAccounts: a vendor with slots has no empty one, and the others refuse another account.
func TestAFullTableOfAccounts(t *testing.T) {
	rack := startRack(t, Options{Servers: len(personalities), Vendors: Vendors()})
	for i, b := range rack.bmcs {
		c := rack.client(t, i)
		e, err := rack.InjectFault(fault.Spec{Kind: fault.AccountTableFull, BMCs: []int{i + 1}})
		if err != nil {
			t.Fatal(err)
		}
		refused := func() bool {
			r := c.makeAccount(b, "another", "long-enough")
			if r == nil {
				return b.quirks.slots > 0
			}
			return r.status == http.StatusBadRequest && r.messageID() == "CreateLimitReachedForResource"
		}
		if !refused() {
			t.Errorf("%s: there is room", b.quirks.vendor)
		}
		uris := odataIDs(c.want(http.StatusOK, http.MethodGet, accountsURI, nil).body["Members"])
		last := uris[len(uris)-1]
		if b.quirks.noAccountDelete {
			c.want(http.StatusOK, http.MethodPatch, last, object{"UserName": ""})
		} else {
			c.want(http.StatusNoContent, http.MethodDelete, last, nil)
		}
		if r := c.makeAccount(b, "new", "long-enough"); r == nil || r.status >= http.StatusBadRequest {
			t.Errorf("%s: no room where an account was deleted", b.quirks.vendor)
		}
		if !refused() {
			t.Errorf("%s: there is more room", b.quirks.vendor)
		}
		rack.clear(t, e.ID)
		c.accountOf("new")
		if n := len(b.accounts); n != 2 {
			t.Errorf("%s: %d accounts when the fault is over", b.quirks.vendor, n)
		}
	}
}

func TestPasswordsExpire(t *testing.T) {
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
	rack := startRack(t, Options{Clock: clock})
	c := rack.client(t, 0)
	c.makeAccount(rack.bmcs[0], "viewer", "long enough")
	uri, viewer := c.accountOf("viewer"), *c
	viewer.user, viewer.password = "viewer", "long enough"
	shows := func(required, at any) {
		t.Helper()
		if r := c.want(http.StatusOK, http.MethodGet, uri, nil); r.body["PasswordChangeRequired"] != required || r.body["PasswordExpiration"] != at {
			t.Errorf("change required %v, expires %v", r.body["PasswordChangeRequired"], r.body["PasswordExpiration"])
		}
	}
	shows(nil, nil)
	clock.Step(time.Hour)
	id := rack.inject(t, fault.Spec{Kind: fault.PasswordExpiry, Value: "48h"})
	shows(false, "2026-03-03T11:00:00Z")
	viewer.want(http.StatusOK, http.MethodGet, systemURI, nil)
	clock.Step(48 * time.Hour)
	viewer.wantError(http.StatusForbidden, "PasswordChangeRequired", http.MethodGet, systemURI, nil)
	viewer.wantError(http.StatusForbidden, "PasswordChangeRequired", http.MethodPost, sessionsURI, object{"UserName": "viewer", "Password": viewer.password})
	c.wantError(http.StatusForbidden, "PasswordChangeRequired", http.MethodGet, systemURI, nil)
	rack.SetPassword(0, c.password) // by somebody in front of it
	shows(true, "2026-03-03T11:00:00Z")

	viewer.wantError(http.StatusForbidden, "InsufficientPrivilege", http.MethodPatch, uri, object{"RoleId": roleOperator})
	viewer.want(http.StatusOK, http.MethodPatch, uri, object{"Password": "changed it"})
	viewer.password = "changed it"
	viewer.want(http.StatusOK, http.MethodGet, systemURI, nil)
	shows(false, "2026-03-05T11:00:00Z")
	rack.clear(t, id)

	rack.inject(t, fault.Spec{Kind: fault.PasswordExpiry})
	viewer.want(http.StatusOK, http.MethodGet, systemURI, nil)
	clock.Step(time.Second)
	id = rack.inject(t, fault.Spec{Kind: fault.PasswordExpiry})
	for _, e := range rack.Faults()[:1] {
		rack.clear(t, e.ID)
	}
	viewer.wantError(http.StatusForbidden, "PasswordChangeRequired", http.MethodGet, systemURI, nil)
	rack.SetPassword(0, c.password)
	c.want(http.StatusOK, http.MethodPatch, uri, object{"Password": "changed again"})
	shows(false, nil)
	rack.clear(t, id)
}

func TestEveryPasswordIsRefused(t *testing.T) {
	rack := startRack(t, Options{Servers: len(personalities), Vendors: Vendors()})
	for i, b := range rack.bmcs {
		c := rack.client(t, i)
		for value, told := range map[string]bool{"rules": true, "silent": false} {
			e, err := rack.InjectFault(fault.Spec{Kind: fault.PasswordsRefused, Value: value, BMCs: []int{i + 1}})
			if err != nil {
				t.Fatal(err)
			}
			rules := c.want(http.StatusOK, http.MethodGet, accountServiceURI, nil).body
			if got := rules["MinPasswordLength"].(float64) > rules["MaxPasswordLength"].(float64); got != told {
				t.Errorf("%s, %s: the rules are %v to %v", b.quirks.vendor, value, rules["MinPasswordLength"], rules["MaxPasswordLength"])
			}
			if r := c.makeAccount(b, "new", "long-enough"); r.status != http.StatusBadRequest || r.messageID() != "PropertyValueFormatError" {
				t.Errorf("%s, %s: HTTP %d %s", b.quirks.vendor, value, r.status, r.messageID())
			}
			if len(b.accounts) != 1 {
				t.Errorf("%s, %s: %d accounts", b.quirks.vendor, value, len(b.accounts))
			}
			rack.clear(t, e.ID)
		}
	}
}

// TestAccountsLockOneByOne: three wrong passwords lock an account, its neighbour goes on, and an administrator unlocks it.
func TestAccountsLockOneByOne(t *testing.T) {
	rack := startRack(t, Options{})
	c := rack.client(t, 0)
	c.makeAccount(rack.bmcs[0], "viewer", "long enough")
	uri, viewer := c.accountOf("viewer"), *c
	rack.inject(t, fault.Spec{Kind: fault.AccountLocked, Value: "3"})
	viewer.user, viewer.password = "viewer", "wrong"
	for range 3 {
		viewer.wantError(http.StatusUnauthorized, "NoValidSession", http.MethodGet, systemURI, nil)
	}
	viewer.password = "long enough"
	viewer.wantError(http.StatusUnauthorized, "AccountLocked", http.MethodGet, systemURI, nil)
	if r := c.want(http.StatusOK, http.MethodGet, uri, nil); r.body["Locked"] != true {
		t.Errorf("Locked %v", r.body["Locked"])
	}
	if r := c.want(http.StatusOK, http.MethodPatch, uri, object{"Locked": false}); r.body["Locked"] != false {
		t.Errorf("Locked %v though it was unlocked", r.body["Locked"])
	}
	viewer.want(http.StatusOK, http.MethodGet, systemURI, nil)
}

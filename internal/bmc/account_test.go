package bmc_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
)

const (
	accountService = "/redfish/v1/AccountService"
	accounts       = accountService + "/Accounts"
	events         = "/redfish/v1/EventService"
)

func TestPasswords(t *testing.T) {
	seen := map[string]bool{}
	for _, rules := range []bmc.PasswordRules{{}, {MaxLength: 40}, {MaxLength: 16, Symbols: "_"}, {MaxLength: 8, Symbols: "-."}, {MinLength: 24}, {MinLength: 12, MaxLength: 16}} {
		for range 200 {
			p, err := rules.NewPassword()
			if err != nil {
				t.Fatal(err)
			}
			word := p.Reveal()
			want := max(20, rules.MinLength)
			if rules.MaxLength > 0 {
				want = min(want, rules.MaxLength)
			}
			symbols := rules.Symbols
			if symbols == "" {
				symbols = "!#%*+-./:=?@_"
			}
			for _, kind := range []string{"abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", symbols} {
				if !strings.ContainsAny(word, kind) {
					t.Fatalf("%q has none of %q", word, kind)
				}
			}
			if len(word) != want || seen[word] || strings.ContainsAny(word[:1], symbols+"0123456789") {
				t.Fatalf("%q of %+v", word, rules)
			}
			seen[word] = true
		}
	}
	for _, rules := range []bmc.PasswordRules{{MaxLength: 7}, {MinLength: 20, MaxLength: 16}, {MinLength: 1 << 20}} {
		if _, err := rules.NewPassword(); err == nil {
			t.Errorf("a password of %+v", rules)
		}
	}
}

// slots makes a BMC of accounts that are changed and not made.
func slots(s *bmctest.Server, names ...string) {
	s.Set(accountService, bmctest.Resource{"MaxPasswordLength": 16, "Accounts": bmctest.Ref(accounts)})
	var members []string
	for i, name := range names {
		path := accounts + "/" + string(rune('1'+i))
		members = append(members, path)
		s.Set(path, bmctest.Resource{"@odata.id": path, "Id": string(rune('1' + i)), "UserName": name, "Enabled": name != ""})
	}
	s.Set(accounts, bmctest.Collection(accounts, members...))
}

func TestFirstFreeSlot(t *testing.T) {
	spec := bmc.AccountSpec{Username: "farrier", Password: "marker-new", Role: "Operator"}
	s := bmctest.New(t)
	slots(s, "", "admin", "", "")
	a, err := client(t, s).CreateAccount(t.Context(), spec)
	if err != nil || a.URI != accounts+"/3" || a.Username != "farrier" || a.Role != "Operator" {
		t.Errorf("%+v, %v: want the first that is free and not 1", a, err)
	}

	s = bmctest.New(t)
	slots(s, "", "admin", "other")
	if _, err := client(t, s).CreateAccount(t.Context(), spec); !errors.Is(err, bmc.ErrNoFreeAccount) || bmc.KindOf(err) != bmc.KindUnsupported {
		t.Errorf("without a free one: %v", err)
	}
	if _, err := client(t, s).CreateAccount(t.Context(), bmc.AccountSpec{Username: "x"}); err == nil {
		t.Error("an account without password")
	}
}

// TestARefusedPasswordIsKnownAsSuch: whatever a BMC does not like, it answers 400. What it is about, the message says.
func TestARefusedPasswordIsKnownAsSuch(t *testing.T) {
	for _, tc := range []struct {
		id    string
		info  bmctest.Resource
		rules bool
	}{
		{"Base.1.18.PropertyValueFormatError", bmctest.Resource{"RelatedProperties": []string{"#/Password"}}, true},
		{"Base.1.8.PropertyValueNotInList", bmctest.Resource{"MessageArgs": []string{"marker", "Password"}}, true},
		{"PropertyValueIncorrect", bmctest.Resource{"MessageArgs": "Password"}, true},
		{"Base.1.18.StringValueTooLong", bmctest.Resource{"RelatedProperties": []string{"/Password"}}, true},
		{"Base.1.18.PropertyValueNotInList", bmctest.Resource{"RelatedProperties": []string{"/RoleId"}, "MessageArgs": []string{"King", "RoleId"}}, false},
		{"Base.1.18.PropertyUnknown", bmctest.Resource{"RelatedProperties": []string{"/Password"}}, false},
		{"Base.1.18.GeneralError", nil, false},
	} {
		s := bmctest.New(t)
		slots(s, "", "admin")
		for _, pattern := range []string{"POST " + accounts, "PATCH " + accounts + "/2"} {
			s.Handle(pattern, func(w http.ResponseWriter, _ *http.Request) {
				info := bmctest.Resource{"MessageId": tc.id, "Message": "no"}
				maps.Copy(info, tc.info)
				bmctest.JSON(w, http.StatusBadRequest, bmctest.Resource{"error": bmctest.Resource{"code": tc.id, "message": "no", "@Message.ExtendedInfo": []any{info}}})
			})
		}
		c := client(t, s)
		_, created := c.CreateAccount(t.Context(), bmc.AccountSpec{Username: "u", Password: "marker"})
		for _, err := range []error{created, c.SetAccount(t.Context(), bmc.Account{URI: accounts + "/2"}, "marker")} {
			if bmc.KindOf(err) != bmc.KindRejected || errors.Is(err, bmc.ErrPasswordRules) != tc.rules {
				t.Errorf("%s %v: %v, which is about the password: %v", tc.id, tc.info, err, errors.Is(err, bmc.ErrPasswordRules))
			}
		}
	}
}

// Bodies hold secrets; a BMC that repeats them in an error does not make us publish them.
func TestEchoedBodiesAreNotShown(t *testing.T) {
	s := bmctest.New(t)
	slots(s, "", "admin")
	s.Set(events, bmctest.Resource{"Subscriptions": bmctest.Ref(events + "/Subscriptions")})
	s.Set(events+"/Subscriptions", bmctest.Collection(""))
	s.Set("/redfish/v1/UpdateService", bmctest.Resource{"@odata.id": "/redfish/v1/UpdateService"})
	refuse := func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		words, _ := json.Marshal(body)
		bmctest.JSON(w, http.StatusBadRequest, bmctest.Resource{"error": bmctest.Resource{"code": "Base.1.0.No", "message": string(words)}})
	}
	for _, pattern := range []string{
		"POST " + accounts, "PATCH " + accounts + "/2", "POST " + events + "/Subscriptions",
		"POST /redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate",
	} {
		s.Handle(pattern, refuse)
	}
	c := client(t, s)
	ctx := t.Context()
	_, created := c.CreateAccount(ctx, bmc.AccountSpec{Username: "u", Password: "marker-1"})
	_, subscribed := c.Subscribe(ctx, bmc.Subscription{Destination: "http://h/marker-2"})
	_, updated := c.SimpleUpdate(ctx, bmc.Update{ImageURI: "http://h/x", Password: "marker-3"})
	for name, err := range map[string]error{
		"account": created, "password": c.SetPassword(ctx, bmc.Account{URI: accounts + "/2"}, "marker-4"), "subscription": subscribed, "update": updated,
	} {
		if err == nil || strings.Contains(formatted(t, err), "marker") || !strings.Contains(err.Error(), "redacted") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// At a Dell the answer to a second subscription looks like that to a change. The first one
// is found, also where it was not listed yet when we looked.
func TestRepeatedSubscription(t *testing.T) {
	for _, test := range []struct {
		maker, id string
		kind      bmc.Kind
	}{
		{"Dell Inc.", "Base.1.8.PropertyValueModified", ""},
		{"Contoso", "Base.1.8.PropertyValueModified", bmc.KindRejected},
		{"Contoso", "Base.1.8.ResourceAlreadyExists", ""},
	} {
		s := bmctest.New(t)
		vendor(test.maker)(s)
		s.Set(events, bmctest.Resource{"Subscriptions": bmctest.Ref(events + "/Subscriptions")})
		s.Set(events+"/Subscriptions", bmctest.Collection(""))
		s.Handle("POST "+events+"/Subscriptions", func(w http.ResponseWriter, _ *http.Request) {
			s.Set(events+"/Subscriptions", bmctest.Collection("", events+"/Subscriptions/7"))
			s.Set(events+"/Subscriptions/7", bmctest.Resource{"Destination": "http://h/x"})
			bmctest.Fail(w, http.StatusBadRequest, test.id)
		})
		c := client(t, s)
		if _, err := c.System(t.Context(), bmctest.System); err != nil {
			t.Fatal(err)
		}
		got, err := c.Subscribe(t.Context(), bmc.Subscription{Destination: "http://h/x"})
		if bmc.KindOf(err) != test.kind || err == nil && got.URI != events+"/Subscriptions/7" {
			t.Errorf("%s, %s: %+v, %v", test.maker, test.id, got, err)
		}
	}
}

// A BMC without sessions is asked something with the password: that there are no sessions says nothing about it.
func TestVerifyWithoutSessions(t *testing.T) {
	s := bmctest.New(t)
	s.NoSessions()
	c := client(t, s)
	right := s.Credentials()
	wrong := bmc.Credentials{Username: right.Username, Password: "marker-wrong"}
	if err := c.Verify(t.Context(), wrong); bmc.KindOf(err) != bmc.KindAuthentication || !errors.Is(err, bmc.ErrNotVerified) {
		t.Errorf("a wrong password: %v", err)
	}
	if err := c.Verify(t.Context(), right); err != nil {
		t.Errorf("the right one: %v", err)
	}
}

package bmcuser

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// stand is the controller before some fake BMCs, one BMCUser each: "u0" at BMC "b0", and so on.
type stand struct {
	*controllertest.API
	*Reconciler
	rack   *controllertest.Rack
	keys   []fleet.Key
	events *events.FakeRecorder
	heard  []string
}

func newUser(i int) *metalv1.BMCUser {
	u := &metalv1.BMCUser{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("u%d", i)}}
	u.Spec.UserName, u.Spec.RoleID = "monitoring", "ReadOnly"
	u.Spec.BMCRef = &metalv1.LocalObjectReference{Name: fmt.Sprintf("b%d", i)}
	return u
}

// stands runs a test in a bubble.
func stands(t *testing.T, bmcs int, test func(*testing.T, *stand)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stand{API: controllertest.NewAPI(t), events: events.NewFakeRecorder(10000)}
		s.rack = controllertest.StartRack(t, s.API.Clock)
		for i := range bmcs {
			b := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("b%d", i)}}
			b.Spec.Access = &metalv1.InlineEndpoint{IP: fmt.Sprintf("10.0.0.%d", i+1)}
			b.Spec.Protocol = metalv1.Protocol{Name: metalv1.ProtocolRedfish, Scheme: metalv1.SchemeHTTP, Port: 8000}
			b.Spec.BMCSecretRef.Name = "operator"
			s.Add(t, b)
			s.keys = append(s.keys, fleet.Key(fmt.Sprintf("http://10.0.0.%d:8000", i+1)))
			fake := s.rack.BMC(string(s.keys[i]))
			fake.Wants("right")
			fake.Set(controllertest.System("/redfish/v1/Systems/1", fmt.Sprintf("00000000-0000-0000-0000-%012d", i+1)))
			fake.OtherAccounts(func(a *controllertest.Accounts) {
				a.Roles, a.Now = []string{"Administrator", "Operator", "ReadOnly"}, s.API.Clock.Now
			})
			s.Add(t, newUser(i))
		}
		s.begin()
		test(t, s)
	})
}

// begin makes the controller, as a process does that has just started.
func (s *stand) begin() {
	for i := range s.keys {
		s.rack.Fleet.Ensure(fleet.Spec{
			Endpoint: bmc.Endpoint{Scheme: "http", Host: fmt.Sprintf("10.0.0.%d", i+1), Port: 8000}, Credentials: bmc.Credentials{Username: "u", Password: "right"},
		})
	}
	s.Reconciler = &Reconciler{
		Client: s.API, APIReader: s.API, Namespace: "farrier", Fleet: s.rack.Fleet, Registry: connection.NewRegistry(s.rack.Fleet), Recorder: s.events, Clock: s.API.Clock,
		KeyOf: func(name string) (fleet.Key, bool) {
			for i := range s.keys {
				if name == fmt.Sprintf("b%d", i) {
					return s.keys[i], true
				}
			}
			return "", false
		},
	}
}

// restart ends the process and begins another, which remembers nothing.
func (s *stand) restart(t *testing.T) {
	t.Helper()
	s.rack.Restart(t)
	s.begin()
}

func (s *stand) bmc(i int) *controllertest.BMC { return s.rack.BMC(string(s.keys[i])) }

// pass lets time go by, and the controller look at everybody now and then.
func (s *stand) pass(t *testing.T, d time.Duration) {
	t.Helper()
	step := max(d/20, 5*time.Second)
	for ; d > 0; d -= step {
		s.settle(t)
		s.API.Clock.Step(step - 2*time.Second)
		s.rack.Pass(2 * time.Second)
	}
	for range 6 {
		s.settle(t)
		s.rack.Pass(time.Second)
	}
	s.settle(t)
}

func (s *stand) settle(t *testing.T) {
	t.Helper()
	for i := range s.keys {
		if s.there(t, i) {
			s.Settle(t, s.Reconciler, fmt.Sprintf("u%d", i))
		}
	}
}

func (s *stand) there(t *testing.T, i int) bool {
	t.Helper()
	var list metalv1.BMCUserList
	if err := s.API.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	for k := range list.Items {
		if list.Items[k].Name == fmt.Sprintf("u%d", i) {
			return true
		}
	}
	return false
}

func (s *stand) user(t *testing.T, i int) *metalv1.BMCUser {
	t.Helper()
	return controllertest.Read[metalv1.BMCUser](t, s.API, fmt.Sprintf("u%d", i))
}

// secrets are the BMCSecrets that a BMCUser owns, by name.
func (s *stand) secrets(t *testing.T, i int) map[string]*metalv1.BMCSecret {
	t.Helper()
	var list metalv1.BMCSecretList
	if err := s.API.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	found := map[string]*metalv1.BMCSecret{}
	for k := range list.Items {
		if strings.HasPrefix(list.Items[k].Name, fmt.Sprintf("u%d-", i)) {
			found[list.Items[k].Name] = &list.Items[k]
		}
	}
	return found
}

// holds checks that the account can be used with the effective secret, which is the only one, and that no password is told.
func (s *stand) holds(t *testing.T, i int) (secret string) {
	t.Helper()
	u := s.user(t, i)
	controllertest.Says(t, u.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonAccountReady)
	controllertest.Says(t, u.Status.Conditions, metalv1.ConditionRotated, metav1.ConditionTrue, metalv1.ReasonRotated)
	secrets := s.secrets(t, i)
	if u.Status.EffectiveBMCSecretRef == nil || len(secrets) != 1 || secrets[u.Status.EffectiveBMCSecretRef.Name] == nil {
		t.Fatalf("effective %+v of %d secrets", u.Status.EffectiveBMCSecretRef, len(secrets))
	}
	effective := secrets[u.Status.EffectiveBMCSecretRef.Name]
	var account bmc.Account
	var password string
	s.bmc(i).OtherAccounts(func(a *controllertest.Accounts) { account, password, _ = a.Account(u.Spec.UserName) })
	if password == "" || password != string(effective.Data["password"]) || string(effective.Data["username"]) != u.Spec.UserName {
		t.Error("the account has another password than the effective secret")
	}
	if effective.Immutable == nil || !*effective.Immutable || !metav1.IsControlledBy(effective, u) {
		t.Error("the effective secret is not immutable, or not owned")
	}
	if account.Role != u.Spec.RoleID || account.ID != u.Status.ID || u.Status.LastRotation == nil {
		t.Errorf("account %+v, status %+v", account, u.Status)
	}
	s.secretive(t, i, password)
	if o, _ := s.Fleet.Observe(s.keys[i]); o.LockedBy != "" {
		t.Errorf("the BMC is still locked by %q", o.LockedBy)
	}
	return effective.Name
}

// secretive checks that a password is told nowhere.
func (s *stand) secretive(t *testing.T, i int, password string) {
	t.Helper()
	u := s.user(t, i)
	for _, text := range append(s.told(""), fmt.Sprint(u.Status), fmt.Sprint(u.Annotations)) {
		if strings.Contains(text, password) {
			t.Errorf("the password is told: %s", text)
		}
	}
}

// told returns the events with a reason.
func (s *stand) told(reason string) (all []string) {
	for len(s.events.Events) > 0 {
		s.heard = append(s.heard, <-s.events.Events)
	}
	for _, e := range s.heard {
		if reason == "" || strings.Contains(e, " "+reason+" ") {
			all = append(all, e)
		}
	}
	return all
}

func (s *stand) asks(t *testing.T, i int, operation string) {
	t.Helper()
	controllertest.Change(t, s.API, fmt.Sprintf("u%d", i), func(u *metalv1.BMCUser) {
		metav1.SetMetaDataAnnotation(&u.ObjectMeta, metalv1.AnnotationOperation, operation)
	})
}

func (s *stand) change(t *testing.T, i int, change func(*metalv1.BMCUser)) {
	t.Helper()
	controllertest.Change(t, s.API, fmt.Sprintf("u%d", i), change)
}

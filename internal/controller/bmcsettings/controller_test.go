package bmcsettings

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// of are the settings by which the BMCs of a vendor are tried, and whether one of them needs a restart.
func of(vendor sim.Vendor) (settings []string, restarts bool) {
	manager := map[sim.Vendor]string{sim.AMI: "Self"}[vendor]
	if manager == "" {
		manager = "1"
	}
	switch vendor {
	case sim.Dell:
		return []string{"NIC.1.DNSRacName", "$(NAME)", "SysLog.1.Server1", "log.$(DOMAIN)", "WebServer.1.Timeout", "600", "LDAP.1.BindPassword", "$(PASSWORD)", "LCAttributes.1.AutoUpdate", "Enabled"}, true
	default:
		return []string{"PATCH /redfish/v1/Managers/" + manager + "/NetworkProtocol", `{"NTP": {"ProtocolEnabled": true, "NTPServers": ["ntp.$(DOMAIN)"]}}`}, vendor == sim.HPE
	}
}

// TestSettingsAreApplied is the whole way before the BMCs of several vendors.
func TestSettingsAreApplied(t *testing.T) {
	for _, vendor := range sim.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			t.Parallel()
			s := newStand(t, vendor)
			settings, restarts := of(vendor)
			s.adds(t, asks(settings...))
			b := s.untilReason(t, reasonWaitingForMaintenance)
			controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonWaitingForMaintenance, "differ", "bmc-b-s1", "1 more")
			s.grants(t)
			restarted := false
			b = s.until(t, "Applied", func(b *metalv1.BMCSettings) bool {
				if p := progressOf(b, ""); p != nil && (p.Step == stepRestart || p.Restarted) {
					restarted = true
				}
				return b.Status.State == metalv1.BMCSettingsStateApplied
			})
			if restarted != restarts || len(b.Spec.ServerMaintenanceRefs) != 0 || b.Status.FailedAttempts != 0 {
				t.Errorf("restarted %v, want %v; maintenances %v, %d attempts failed", restarted, restarts, b.Spec.ServerMaintenanceRefs, b.Status.FailedAttempts)
			}
			if hidden := strings.Contains(b.Status.Conditions[0].Message, "does not show LDAP.1.BindPassword"); hidden != (vendor == sim.Dell) {
				t.Errorf("it says %q", b.Status.Conditions[0].Message)
			}
			s.givenBack(t)
			// Everything can be derived again, by reading alone.
			s.memories.forget(b.UID)
			controllertest.ChangeStatus(t, s.API, "b", func(b *metalv1.BMCSettings) { b.Status = metalv1.BMCSettingsStatus{} })
			if b = s.untilState(t, metalv1.BMCSettingsStateApplied); len(b.Spec.ServerMaintenanceRefs) != 0 {
				t.Error("asked for maintenances once more")
			}
		})
	}
}

// TestARolloutIsWaitedFor: no server is asked for until there is a permit.
func TestARolloutIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Standard)
	settings, _ := of(sim.Standard)
	s.adds(t, asks(settings...), func(b *metalv1.BMCSettings) { rolloutpermit.SetPolicy(b, "careful") })
	b := s.untilReason(t, metalv1.ReasonWaitingForRollout)
	controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonWaitingForRollout, "differ", `"careful"`)
	if len(s.Writes("ServerMaintenance")) > 0 {
		t.Error("a server was asked for without a permit")
	}
	controllertest.Change(t, s.API, "b", func(b *metalv1.BMCSettings) { rolloutpermit.Set(b, &rolloutpermit.Permit{Begun: s.API.Clock.Now()}) })
	s.untilReason(t, reasonWaitingForMaintenance)
}

// TestAKillAtEachStep: a manager that knows nothing goes on where the other one stopped.
func TestAKillAtEachStep(t *testing.T) {
	for _, at := range []step{stepBegin, stepWrite, stepRestart, stepVerify, stepDone} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			s := newStand(t, sim.Dell)
			settings, _ := of(sim.Dell)
			s.adds(t, asks(settings...))
			s.grants(t)
			s.until(t, string(at), func(b *metalv1.BMCSettings) bool {
				p := progressOf(b, "")
				return p != nil && (p.Step == at || p.Restarted || p.Step == stepDone)
			})
			other := &Reconciler{
				Client: s.API, APIReader: s.API, Fleet: s.Fleet, Registry: s.Registry, KeyOf: s.KeyOf, Recorder: s, Clock: s.clock, Namespace: s.Namespace,
			}
			s.Reconciler = other
			s.untilState(t, metalv1.BMCSettingsStateApplied)
			s.givenBack(t)
		})
	}
}

// TestWhatCannotBe is refused by name, before any server is asked for.
func TestWhatCannotBe(t *testing.T) {
	failed, pending := metalv1.BMCSettingsStateFailed, metalv1.BMCSettingsStatePending
	variable := func(from metalv1.VariableSource) func(*metalv1.BMCSettings) {
		return func(b *metalv1.BMCSettings) {
			b.Spec.Variables = []metalv1.Variable{{Key: "V", ValueFrom: &from}}
			asks("SysLog.1.Server1", "$(V)")(b)
		}
	}
	secret := func(name, key string) metalv1.VariableSource {
		return metalv1.VariableSource{SecretKeyRef: &metalv1.NamespacedKeySelector{Namespace: "ns", Name: name, Key: key}}
	}
	for name, tc := range map[string]struct {
		vendor sim.Vendor
		change func(*metalv1.BMCSettings)
		state  metalv1.BMCSettingsState
		reason string
		says   string
	}{
		"unknown attribute":      {sim.Dell, asks("Typo.1.X", "1"), failed, reasonUnknownAttribute, "Typo.1.X"},
		"wrong type":             {sim.Dell, asks("WebServer.1.Timeout", "soon"), failed, reasonInvalidValue, "WebServer.1.Timeout"},
		"out of range":           {sim.Dell, asks("WebServer.1.Timeout", "1"), failed, reasonInvalidValue, "WebServer.1.Timeout"},
		"none of the values":     {sim.Dell, asks("SysLog.1.SysLogEnable", "Yes"), failed, reasonInvalidValue, "Disabled, Enabled"},
		"a secret of wrong type": {sim.Dell, asks("WebServer.1.Timeout", "$(PASSWORD)"), failed, reasonInvalidValue, "from a Secret"},
		"read-only":              {sim.Dell, asks("Info.1.HWModel", "other"), failed, reasonReadOnlyAttribute, "Info.1.HWModel"},
		"a password in the spec": {sim.Dell, asks("LDAP.1.BindPassword", "plain"), failed, reasonInvalidValue, "belongs into a Secret"},
		"no attributes":          {sim.HPE, asks("SSH.1.Port", "22"), failed, reasonNoAttributes, "documents"},
		"another method":         {sim.HPE, asks("DELETE /redfish/v1/Managers/1", `{"a": 1}`), failed, reasonInvalidMethod, "DELETE"},
		"outside of Redfish":     {sim.HPE, asks("PATCH /rest/v1/Managers/1", `{"a": 1}`), failed, reasonInvalidURI, "/redfish/v1"},
		"no JSON":                {sim.HPE, asks("PATCH /redfish/v1/Managers/1/NetworkProtocol", `{`), failed, reasonInvalidDocument, "JSON"},
		"no such resource":       {sim.HPE, asks("PATCH /redfish/v1/Managers/1/Nothing", `{"a": 1}`), failed, reasonResourceMissing, "Nothing"},
		"POST to no collection":  {sim.HPE, asks("POST /redfish/v1/Managers/1/NetworkProtocol", `{"a": 1}`), failed, reasonInvalidMethod, "PATCH"},
		"unknown variable":       {sim.Dell, asks("SysLog.1.Server1", "$(NOBODY)"), failed, reasonUnknownVariable, "$(NOBODY)"},
		"a variable of itself":   {sim.Dell, variable(metalv1.VariableSource{FieldRef: &metalv1.FieldRefSelector{FieldPath: "metadata.labels['$(V)']"}}), failed, reasonUnknownVariable, "before it"},
		"no such Secret":         {sim.Dell, variable(secret("nobody", "password")), pending, reasonSourceMissing, "Secret ns/nobody"},
		"a key of Farrier's own": {sim.Dell, variable(metalv1.VariableSource{SecretKeyRef: &metalv1.NamespacedKeySelector{Namespace: "farrier-system", Name: "farrier-keys", Key: "token"}}), failed, reasonSourceRefused, "own"},
		"no such ConfigMap":      {sim.Dell, variable(metalv1.VariableSource{ConfigMapKeyRef: &metalv1.NamespacedKeySelector{Namespace: "ns", Name: "nobody", Key: "a"}}), pending, reasonSourceMissing, "ConfigMap ns/nobody"},
		"no such key":            {sim.Dell, variable(secret("secret", "pin")), pending, reasonKeyMissing, `"pin"`},
		"no such field":          {sim.Dell, variable(metalv1.VariableSource{FieldRef: &metalv1.FieldRefSelector{FieldPath: "metadata.labels['rack']"}}), pending, reasonFieldMissing, "rack"},
		"no such BMC":            {sim.Dell, variable(metalv1.VariableSource{ObjectFieldRef: &metalv1.ObjectFieldRefSelector{Kind: "BMC", Name: "x", FieldPath: "metadata.name"}}), pending, reasonSourceMissing, "BMC x"},
		"no source":              {sim.Dell, variable(metalv1.VariableSource{}), pending, reasonSourceMissing, "names nothing"},
		"another version":        {sim.Dell, func(b *metalv1.BMCSettings) { b.Spec.Version = "99.1" }, pending, reasonVersionMismatch, "99.1"},
		"no BMC":                 {sim.Dell, func(b *metalv1.BMCSettings) { b.Spec.BMCRef.Name = "x" }, pending, reasonBMCNotFound, "x"},
		"names no BMC":           {sim.Dell, func(b *metalv1.BMCSettings) { b.Spec.BMCRef = nil }, pending, reasonBMCRefMissing, "BMCRef"},
		"nothing to do":          {sim.Dell, asks("SysLog.1.SysLogEnable", "Disabled"), metalv1.BMCSettingsStateApplied, reasonApplied, "all 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t, tc.vendor)
			s.adds(t, tc.change)
			b := s.untilReason(t, tc.reason)
			status := metav1.ConditionFalse
			if tc.state == metalv1.BMCSettingsStateApplied {
				status = metav1.ConditionTrue
			}
			controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, status, tc.reason, tc.says)
			if b.Status.State != tc.state || len(b.Spec.ServerMaintenanceRefs) != 0 {
				t.Errorf("state %s, maintenances %v", b.Status.State, b.Spec.ServerMaintenanceRefs)
			}
			s.givenBack(t)
		})
	}
}

// TestAttemptsFail: each reason is named, and the servers are given back.
func TestAttemptsFail(t *testing.T) {
	const attributes = "/DellAttributes/"
	for name, tc := range map[string]struct {
		fault  fault.Spec
		at     step
		reason string
		says   string
	}{
		"the BMC refuses":            {fault.Spec{Kind: fault.SettingsRefused, Path: attributes}, stepWrite, reasonWriteFailed, "the words of the BMC are left out"},
		"the settings do not stick":  {fault.Spec{Kind: fault.SettingsIgnored, Path: attributes}, stepWrite, reasonNotVerified, "NIC.1.DNSRacName"},
		"the restart is refused":     {fault.Spec{Kind: fault.Forbidden, Path: "/Actions/Manager.Reset"}, stepWrite, reasonRestartFailed, "restart the BMC"},
		"the BMC does not come back": {fault.Spec{Kind: fault.Reset}, stepVerify, reasonBMCNotBack, backTimeout.String()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t, sim.Dell)
			settings, _ := of(sim.Dell)
			s.adds(t, asks(settings...))
			s.grants(t)
			s.untilStep(t, stepBegin)
			if tc.at != stepWrite {
				s.untilStep(t, tc.at)
			}
			s.goesWrong(t, tc.fault)
			b := s.untilState(t, metalv1.BMCSettingsStateFailed)
			controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, tc.reason, tc.says)
			if b.Status.FailedAttempts != 1 || len(b.Spec.ServerMaintenanceRefs) != 0 {
				t.Errorf("%d attempts failed, maintenances %v", b.Status.FailedAttempts, b.Spec.ServerMaintenanceRefs)
			}
			s.givenBack(t)
		})
	}
}

// TestItIsTriedAgain as often as the policy says, and when somebody asks for it.
func TestItIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Dell)
	s.adds(t, func(b *metalv1.BMCSettings) { b.Spec.RetryPolicy.MaxAttempts = ptr.To(int32(1)) })
	s.grants(t)
	end := s.goesWrong(t, fault.Spec{Kind: fault.SettingsRefused})
	b := s.until(t, "an attempt has failed", func(b *metalv1.BMCSettings) bool { return b.Status.FailedAttempts == 1 })
	controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonRetrying, "attempt 1 failed")
	b = s.untilState(t, metalv1.BMCSettingsStateFailed)
	controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonWriteFailed, "PropertyValueConflict")
	if b.Status.FailedAttempts != 2 {
		t.Errorf("%d attempts failed", b.Status.FailedAttempts)
	}
	end()
	for _, name := range []string{"s1", "s2"} {
		controllertest.Change(t, s.API, name, func(o *metalv1.Server) { o.Spec.ServerMaintenanceRef = nil })
	}
	controllertest.Change(t, s.API, "b", func(b *metalv1.BMCSettings) {
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, metalv1.AnnotationOperation, metalv1.OperationRetry)
	})
	s.grants(t)
	s.untilState(t, metalv1.BMCSettingsStateApplied)
}

// TestDriftIsNoticed on a slow poll, without any event.
func TestDriftIsNoticed(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Dell)
	s.adds(t)
	s.grants(t)
	s.untilState(t, metalv1.BMCSettingsStateApplied)
	for _, name := range []string{"s1", "s2"} {
		controllertest.Change(t, s.API, name, func(o *metalv1.Server) { o.Spec.ServerMaintenanceRef = nil })
	}
	s.does(t, "stranger", func(ctx context.Context, services fleet.Services) error {
		m, err := services.ManagerAttributes(ctx)
		if err == nil {
			_, err = services.SetManagerAttributes(ctx, m, map[string]any{"SysLog.1.SysLogEnable": "Disabled"})
		}
		return err
	})
	s.clock.forward(lookEvery - time.Hour)
	s.Settle(t, s.Reconciler, "b")
	if b := s.settings(t); b.Status.State != metalv1.BMCSettingsStateApplied {
		t.Fatalf("looked at before its time: %+v", b.Status)
	}
	s.clock.forward(time.Hour)
	b := s.untilReason(t, reasonWaitingForMaintenance)
	controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonWaitingForMaintenance, "SysLog.1.SysLogEnable differ")
	s.grants(t)
	s.untilState(t, metalv1.BMCSettingsStateApplied)
}

// TestAnotherSecret is sent anew, though the BMC shows neither.
func TestAnotherSecret(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Dell)
	s.adds(t, asks("LDAP.1.BindPassword", "$(PASSWORD)"))
	s.grants(t)
	s.untilState(t, metalv1.BMCSettingsStateApplied)
	if names := s.memories.usersOf(source{kindSecret, "ns", "secret"}); fmt.Sprint(names) != "[b]" {
		t.Errorf("the Secret is used by %v", names)
	}
	s.returns(t)
	controllertest.Change(t, s.API, "ns/secret", func(o *corev1.Secret) { o.Data["password"] = []byte("hush-4711-2") })
	s.grants(t)
	s.untilState(t, metalv1.BMCSettingsStateApplied)
}

// TestAnotherConfigMap is read within ten minutes.
func TestAnotherConfigMap(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Dell)
	s.adds(t)
	s.grants(t)
	s.untilState(t, metalv1.BMCSettingsStateApplied)
	s.returns(t)
	controllertest.Change(t, s.API, "ns/site", func(o *corev1.ConfigMap) { o.Data["domain"] = "example.net" })
	s.Settle(t, s.Reconciler, "b")
	if b := s.settings(t); b.Status.State != metalv1.BMCSettingsStateApplied {
		t.Fatalf("read before its time: %+v", b.Status)
	}
	s.clock.forward(configMapsEvery)
	s.until(t, "asked for maintenances", func(b *metalv1.BMCSettings) bool { return len(b.Spec.ServerMaintenanceRefs) == 2 })
}

// TestTheTargetIsDeleted in the middle: that is said, and nothing is kept.
func TestTheTargetIsDeleted(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Dell)
	settings, _ := of(sim.Dell)
	s.adds(t, asks(settings...))
	s.grants(t)
	s.untilStep(t, stepVerify)
	s.Remove(t, controllertest.Read[metalv1.BMC](t, s.API, "bmc"))
	b := s.untilReason(t, reasonBMCNotFound)
	if p := progressOf(b, ""); p.Step != stepFailed || !strings.Contains(p.Message, "deleted while") || b.Status.FailedAttempts != 1 {
		t.Errorf("progress %v, %d attempts failed", p, b.Status.FailedAttempts)
	}
	s.givenBack(t)
}

// TestDeletion waits for what is under way, unless a person says otherwise.
func TestDeletion(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Dell)
	settings, _ := of(sim.Dell)
	s.adds(t, asks(settings...))
	s.grants(t)
	s.untilStep(t, stepVerify)
	s.Remove(t, s.settings(t))
	s.Step(t, s.Reconciler, "b")
	if controllertest.Gone[metalv1.BMCSettings](t, s.API, "b") {
		t.Fatal("gone in the middle")
	}
	controllertest.Change(t, s.API, "b", func(b *metalv1.BMCSettings) {
		b.Annotations[metalv1.AnnotationOperation] = metalv1.OperationAllowInProgressDelete
	})
	s.Step(t, s.Reconciler, "b")
	if !controllertest.Gone[metalv1.BMCSettings](t, s.API, "b") {
		t.Error("it is there still")
	}
	s.givenBack(t)
}

// TestOneForEachBMC: the younger waits until the older is gone.
func TestOneForEachBMC(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Dell)
	s.adds(t, asks("SysLog.1.SysLogEnable", "Disabled"))
	s.untilState(t, metalv1.BMCSettingsStateApplied)
	s.API.Clock.Step(time.Minute)
	s.adds(t, func(b *metalv1.BMCSettings) { b.Name = "younger" })
	s.Settle(t, s.Reconciler, "younger")
	younger := controllertest.Read[metalv1.BMCSettings](t, s.API, "younger")
	controllertest.Says(t, younger.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonAnotherGoesFirst, `"b"`)
	s.Remove(t, s.settings(t))
	s.Step(t, s.Reconciler, "b")
	deadline := time.After(patience)
	for younger.Status.Conditions[0].Reason != reasonWaitingForMaintenance {
		s.Settle(t, s.Reconciler, "younger")
		younger = controllertest.Read[metalv1.BMCSettings](t, s.API, "younger")
		select {
		case <-s.changed:
		case <-time.After(100 * time.Millisecond):
		case <-deadline:
			t.Fatalf("it waits still: %+v", younger.Status)
		}
	}
}

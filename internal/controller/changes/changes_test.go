package changes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/logbook"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func server(state metalv1.ServerState, power metalv1.PowerState, claim string, conditions ...metav1.Condition) *metalv1.Server {
	s := &metalv1.Server{}
	s.Name, s.Status.State, s.Status.PowerState, s.Status.Conditions = "node-7", state, power, conditions
	if claim != "" {
		s.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "default", Name: claim}
	}
	return s
}

func condition(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: "Ready", Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(noon)}
}

// TestDiff: what changed is told once, and what a poll repeats is not.
func TestDiff(t *testing.T) {
	const who = "server/node-7"
	base := server("Available", "Off", "", condition("True", "Reachable", "answers"))
	for name, c := range map[string]struct {
		before, now *metalv1.Server
		want        []logbook.Entry
	}{
		"nothing":         {base, server("Available", "Off", "", condition("True", "Reachable", "answers")), nil},
		"another message": {base, server("Available", "Off", "", condition("True", "Reachable", "answers after 12ms")), nil},
		"state and power": {base, server("Discovery", "On", "", condition("True", "Reachable", "answers")), []logbook.Entry{
			{Subject: who, Object: "Server", Kind: logbook.KindState, What: "state Discovery", Detail: "was Available"},
			{Subject: who, Object: "Server", Kind: logbook.KindState, What: "power On", Detail: "was Off"},
		}},
		"claimed": {base, server("Available", "Off", "web", condition("True", "Reachable", "")), []logbook.Entry{
			{Subject: who, Object: "Server", Kind: logbook.KindClaim, What: "claimed", Detail: "default/web"},
		}},
		"given back": {server("Reserved", "Off", "web"), server("Reserved", "Off", ""), []logbook.Entry{
			{Subject: who, Object: "Server", Kind: logbook.KindClaim, What: "claim gone", Detail: "default/web"},
		}},
		"a condition": {base, server("Available", "Off", "", condition("False", "BMCUnreachable", "hung up")), []logbook.Entry{
			{Subject: who, Object: "Server", Kind: logbook.KindCondition, What: "not Ready", Reason: "BMCUnreachable", Detail: "hung up", Time: noon},
		}},
		"another reason": {base, server("Available", "Off", "", condition("True", "Other", "")), []logbook.Entry{
			{Subject: who, Object: "Server", Kind: logbook.KindCondition, What: "Ready", Reason: "Other"},
		}},
	} {
		before, _ := of(c.before)
		now, _ := of(c.now)
		if d := cmp.Diff(c.want, diff(before, now)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestWhoAChangeIsAbout: what happens to objects around a server is told of the server, or of its BMC.
func TestWhoAChangeIsAbout(t *testing.T) {
	book := logbook.New(logbook.Options{Clock: clocktesting.NewFakePassiveClock(noon)})
	h := handler(book)
	claim := &metalv1.ServerClaim{}
	claim.Namespace, claim.Name = "default", "web"
	bound := claim.DeepCopy()
	bound.Spec.ServerRef, bound.Status.Phase = &metalv1.LocalObjectReference{Name: "node-7"}, metalv1.ServerClaimPhaseBound
	b := &metalv1.BMC{}
	b.Name, b.Spec.Access = "bmc-7", &metalv1.InlineEndpoint{IP: "10.0.0.7"}
	answers := b.DeepCopy()
	answers.Status.State = metalv1.BMCStateEnabled
	config := &metalv1.ServerBootConfiguration{}
	config.Namespace, config.Name, config.Spec.ServerRef.Name = "default", "web", "node-7"

	h.OnAdd(server("Available", "Off", ""), true) // was there at the start
	h.OnAdd(claim, false)
	h.OnUpdate(claim, bound)
	h.OnUpdate(b, answers)
	h.OnAdd(config, false)
	h.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: config})
	h.OnDelete("no object")
	for subject, want := range map[string][]string{
		"claim/default/web": {"created"}, "server/node-7": {"state Bound", "created", "gone"}, "bmc/10.0.0.7": {"state Enabled"},
	} {
		var got []string
		for _, e := range book.Read(t.Context(), subject) {
			got = append(got, e.What)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", subject, d)
		}
	}
}

package bootdelivery

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestNoDecisionReadsAMessage: two lives of a boot config that differ in the messages of its conditions alone, which are random words in
// one of them, take the same course.
func TestNoDecisionReadsAMessage(t *testing.T) {
	plain := life(t, func(*stand) {})
	for seed := range uint64(3) {
		random := rand.New(rand.NewPCG(seed, seed))
		scrambled := life(t, func(s *stand) {
			controllertest.Scramble[bootv1.IPXEBootConfig](t, s.API, "ns/c", random)
			controllertest.Scramble[metalv1.ServerBootConfiguration](t, s.API, "ns/c", random)
		})
		if diff := cmp.Diff(plain, scrambled); diff != "" {
			t.Errorf("seed %d (-plain +scrambled)\n%s", seed, diff)
		}
	}
}

// life is what a boot config comes to in two boots, a second read, a restart, a Secret that is lost and found, and an installation.
func life(t *testing.T, between func(*stand)) []string {
	t.Helper()
	s := newStand(t, append(ours(ordered("first"), withIgnition), secret("secret", map[string]string{"ignition": "{}"}))...)
	var course []string
	step := func(what string, change func()) {
		change()
		between(s)
		s.Step(t, s.ipxe, "ns/c")
		s.Step(t, s.ipxe, "ns/c")
		c := s.readIPXE(t, "ns/c")
		m, status := s.View.ByUUID(uuid)
		course = append(course, fmt.Sprint(what, ": ", c.Status.State, " ", c.Status.DeliveryAttempt, " ", c.Status.IgnitionFingerprint, " ", controllertest.Typed(c.Status.Conditions),
			" ", status, " ", m != nil && !m.Script().IsZero(), " ", s.Acknowledged("first"), s.Acknowledged("second")))
	}
	delivered := func(kind bootview.DeliveryKind, attempt, addr string) func() {
		return func() { s.Delivered(fetched(kind, attempt, addr)) }
	}
	attempt := func(next func(*bootattempt.Attempt) *bootattempt.Attempt) func() {
		return func() {
			controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) {
				c.Annotations[metalv1.AnnotationBootAttempt] = next(bootattempt.Of(c)).String()
			})
		}
	}
	data := client.Object(secret("secret", map[string]string{"ignition": "{}"}))
	step("ordered", func() {})
	step("seen on", attempt(func(a *bootattempt.Attempt) *bootattempt.Attempt { return a.SeenOn(controllertest.Start) }))
	step("script", delivered(bootview.DeliveredScript, "first", "10.0.0.7"))
	step("kernel", delivered(bootview.DeliveredArtifact, "first", "10.0.0.7"))
	step("ignition", delivered(bootview.DeliveredIgnition, "first", "10.0.0.7"))
	step("ignition again", delivered(bootview.DeliveredIgnition, "first", "10.0.0.66"))
	step("restart", s.notes.init)
	step("secret lost", func() { s.Remove(t, data) })
	step("secret found", func() { s.Add(t, secret("secret", map[string]string{"ignition": "{ }"})) })
	step("second order", attempt(func(a *bootattempt.Attempt) *bootattempt.Attempt { return a.Next("second", controllertest.Start) }))
	step("ignition of the first", delivered(bootview.DeliveredIgnition, "first", "10.0.0.7"))
	step("ignition of the second", delivered(bootview.DeliveredIgnition, "second", "10.0.0.7"))
	step("installed", attempt(func(a *bootattempt.Attempt) *bootattempt.Attempt { return a.SeenInstalled(controllertest.Start) }))
	return course
}

// TestWhatAnOlderVersionWroteIsKept: it named no attempt beside the conditions. What was fetched since the order is of the attempt.
func TestWhatAnOlderVersionWroteIsKept(t *testing.T) {
	s := newStand(t, ours(ordered("first"))...)
	s.Settle(t, s.ipxe, "ns/c")
	s.Delivered(fetched(bootview.DeliveredScript, "first", "10.0.0.7"))
	s.Settle(t, s.ipxe, "ns/c")
	s.notes.init()
	controllertest.ChangeStatus(t, s.API, "ns/c", func(c *bootv1.IPXEBootConfig) { c.Status.DeliveryAttempt = "" })
	s.Settle(t, s.ipxe, "ns/c")
	status := s.readIPXE(t, "ns/c").Status
	if status.DeliveryAttempt != "first" {
		t.Errorf("the attempt is %q", status.DeliveryAttempt)
	}
	controllertest.Says(t, status.Conditions, bootv1.ConditionIPXEScriptFetched, metav1.ConditionTrue, "Delivered")
}

package bootconfig

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/reportintake"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// TestNoDecisionReadsAMessage: two lives of a boot configuration that differ in the messages of conditions alone, which are random words in
// one of them, take the same course.
func TestNoDecisionReadsAMessage(t *testing.T) {
	plain := life(t, func(*stand) {})
	random := rand.New(rand.NewPCG(1, 2))
	scrambled := life(t, func(s *stand) {
		controllertest.Scramble[metalv1.ServerBootConfiguration](t, s.API, "ns/c", random)
		controllertest.Scramble[bootv1.IPXEBootConfig](t, s.API, "ns/c", random)
		controllertest.Scramble[bootv1.HTTPBootConfig](t, s.API, "ns/c", random)
		controllertest.Scramble[metalv1.Server](t, s.API, "s", random)
	})
	if diff := cmp.Diff(plain, scrambled); diff != "" {
		t.Errorf("(-plain +scrambled)\n%s", diff)
	}
}

// life is what a boot configuration comes to in two boots: delivered, fetched, reported, ordered anew.
func life(t *testing.T, between func(*stand)) []string {
	t.Helper()
	s, _ := pushed(t, both)
	s.boots(t)
	s.resolved(t)
	s.delivered(t)
	intake := reportintake.Intake{Client: s.API, APIReader: s.API, Namespace: "farrier-system", Clock: s.API.Clock}
	var course []string
	step := func(what string, change func()) {
		between(s)
		change()
		between(s)
		s.Step(t, s.Reconciler, "ns/c")
		s.Step(t, s.Reconciler, "ns/c")
		c := controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/c")
		a := bootattempt.Of(c)
		course = append(course, fmt.Sprint(what, ": ", c.Status.State, " ", c.Status.DeliveryAttempt, " ", c.Status.BootStateAttempt, " ", controllertest.Typed(c.Status.Conditions),
			" image ", Digest(c), " ignition ", Ignition(c), " booted ", reportintake.Booted(c, a)))
	}
	order := func(id string) func() {
		return func() {
			controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) {
				next := bootattempt.Of(c).Next(id, controllertest.Start).SeenOn(controllertest.Start)
				metav1.SetMetaDataAnnotation(&c.ObjectMeta, metalv1.AnnotationBootAttempt, next.String())
			})
		}
	}
	fetch := func(attempt, kind string) func() {
		return func() {
			controllertest.ChangeStatus(t, s.API, "ns/c", func(c *bootv1.IPXEBootConfig) {
				c.Status.DeliveryAttempt, c.Status.IgnitionFingerprint = attempt, "print"
				apimeta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Delivered"})
			})
		}
	}
	report := func(attempt string) func() {
		return func() {
			_ = intake.BootState(t.Context(), inspection.BootState{SystemUUID: uuid, Attempt: attempt, Booted: true}) // an attempt that is over is refused
		}
	}
	step("first order", order("first"))
	step("script", fetch("first", bootv1.ConditionIPXEScriptFetched))
	step("ignition", fetch("first", bootv1.ConditionIgnitionDataFetched))
	step("booted", report("first"))
	step("booted, said again", report("first"))
	step("second order", order("second"))
	step("booted, said late", report("first"))
	step("booted again", report("second"))
	return course
}

// TestWhatAnOlderVersionSaidOfABootCounts: it named no attempt beside the condition. A machine that reported since its order has booted.
func TestWhatAnOlderVersionSaidOfABootCounts(t *testing.T) {
	s, _ := pushed(t, kernel)
	s.resolved(t)
	controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) {
		var none *bootattempt.Attempt
		c.Annotations = map[string]string{metalv1.AnnotationBootAttempt: none.Next("first", controllertest.Start).String()}
	})
	for since, want := range map[time.Duration]metav1.ConditionStatus{time.Minute: metav1.ConditionTrue, -time.Minute: metav1.ConditionFalse} {
		controllertest.ChangeStatus(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) {
			apimeta.RemoveStatusCondition(&c.Status.Conditions, metalv1.ConditionBootStateReceived)
			apimeta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
				Type: metalv1.ConditionBootStateReceived, Status: metav1.ConditionTrue, Reason: "Booted", LastTransitionTime: metav1.NewTime(controllertest.Start.Add(since)),
			})
		})
		if c := apimeta.FindStatusCondition(s.settle(t).Status.Conditions, metalv1.ConditionBootStateReceived); c.Status != want {
			t.Errorf("reported %s after the order: %s, want %s", since, c.Status, want)
		}
	}
}

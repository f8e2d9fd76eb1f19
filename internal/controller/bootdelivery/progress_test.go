package bootdelivery

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestAPartOfTheImageIsSaid: it tells a machine that goes on from one that has its script alone.
func TestAPartOfTheImageIsSaid(t *testing.T) {
	s := newStand(t, ours(ordered("first"))...)
	s.Settle(t, s.ipxe, "ns/c")
	conditions := func() []metav1.Condition { return s.readIPXE(t, "ns/c").Status.Conditions }
	s.Delivered(fetched(bootview.DeliveredArtifact, "first", "10.0.0.7"))
	s.Settle(t, s.ipxe, "ns/c")
	controllertest.Says(t, conditions(), bootv1.ConditionKernelFetched, metav1.ConditionTrue, "Delivered", "first", "10.0.0.7")

	// The initramfs is no news, nor is a part that could not be had.
	s.ForgetWrites()
	s.Delivered(fetched(bootview.DeliveredArtifact, "first", "10.0.0.7"))
	s.Settle(t, s.ipxe, "ns/c")
	if w := s.Writes(""); len(w) != 0 {
		t.Errorf("written: %v", w)
	}
	controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) { order(c, "second") })
	missing := fetched(bootview.DeliveredArtifact, "second", "10.0.0.7")
	missing.Status = 502
	s.Delivered(missing)
	s.Settle(t, s.ipxe, "ns/c")
	controllertest.Says(t, conditions(), bootv1.ConditionKernelFetched, metav1.ConditionFalse, "BootOrdered")
}

// TestSinceWhenMachinesAreAnswered: since all of them are known and the boot server listens, whichever is later, and for the first time.
func TestSinceWhenMachinesAreAnswered(t *testing.T) {
	for name, order := range map[string][2]func(*stand){
		"known first":    {func(s *stand) { s.synced() }, func(s *stand) { s.Listens() }},
		"listened first": {func(s *stand) { s.Listens() }, func(s *stand) { s.synced() }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			order[0](s)
			if at := s.Answering(); !at.IsZero() {
				t.Fatalf("answers since %s, and only one of both is so", at)
			}
			s.API.Clock.Step(time.Minute)
			began := s.API.Clock.Now()
			order[1](s)
			s.API.Clock.Step(time.Hour)
			order[0](s)
			order[1](s)
			if at := s.Answering(); !at.Equal(began) {
				t.Errorf("answers since %s, want %s", at, began)
			}
		})
	}
}

package server

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// TestAServerThatIsDeletedWhileItIsCleanedIsCleanedFirst: made anew, it would be handed out with what is on its disks.
func TestAServerThatIsDeletedWhileItIsCleanedIsCleanedFirst(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		claim := s.released(t, inspection.CleanFull)
		s.mustTell(t, both)
		s.pass(t, 5*time.Second)
		old, resets := s.is(t, metalv1.ServerStateCleanup), s.hw.Resets()
		s.Remove(t, old)
		s.pass(t, time.Minute)
		if now := s.is(t, metalv1.ServerStateCleanup); now.UID != old.UID || now.DeletionTimestamp.IsZero() || now.Annotations[metalv1.AnnotationClaimedBy] != string(claim.UID) {
			t.Fatalf("it is not the one that was deleted: %v", now.ObjectMeta)
		}
		s.says(t, conditionDeletionWaits, metav1.ConditionTrue, "NotClean", metalv1.AnnotationClaimedBy)
		if got := s.hw.Resets(); !slices.Equal(got, resets) {
			t.Errorf("the wipe was interrupted: %v", got[len(resets):])
		}
		s.restart(t) // and nobody remembers but the object
		s.mustTell(t, both, good)
		s.pass(t, 10*time.Second)
		again := s.read(t)
		if again.UID == old.UID || again.Annotations[metalv1.AnnotationClaimedBy] != "" {
			t.Errorf("clean, and the old one is still there: %s, %v", again.Status.State, again.ObjectMeta)
		}
		if !controllertest.Gone[corev1.ConfigMap](t, s.API, namespace+"/"+machinerecord.CleanupName(host, string(claim.UID))) {
			t.Error("the record is that of a server that is no more")
		}
	})
}

// TestAServerThatCannotBeCleanedIsKept: until it is clean after all, or somebody says that it may go as it is.
func TestAServerThatCannotBeCleanedIsKept(t *testing.T) {
	for name, way := range map[string]func(*testing.T, *stand){
		"clean after all": func(t *testing.T, s *stand) {
			s.operate(t, metalv1.OperationRetry)
			s.cleaning(t)
			s.mustTell(t, both, good)
		},
		"given up": func(t *testing.T, s *stand) {
			s.change(t, func(o *metalv1.Server) { delete(o.Annotations, metalv1.AnnotationClaimedBy) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				s.released(t, inspection.CleanFull)
				s.mustTell(t, both, bad)
				s.pass(t, 10*time.Second)
				old := s.is(t, metalv1.ServerStateError)
				s.Remove(t, old)
				s.pass(t, 10*time.Minute)
				if now := s.is(t, metalv1.ServerStateError); now.UID != old.UID || len(now.Spec.Taints) == 0 {
					t.Fatalf("it is not the one that was deleted: %v, taints %v", now.ObjectMeta, now.Spec.Taints)
				}
				s.says(t, conditionDeletionWaits, metav1.ConditionTrue, "NotClean")
				way(t, s)
				s.pass(t, 10*time.Second)
				if again := s.read(t); again.UID == old.UID {
					t.Errorf("it is still there: %s, %v", again.Status.State, again.ObjectMeta)
				}
			})
		})
	}
}

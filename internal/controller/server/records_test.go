package server

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/reportintake"
	"github.com/farrier-dev/farrier/internal/inspection"
)

func readCleanup(t *testing.T, s *stand, owner string) machinerecord.Cleanup {
	t.Helper()
	obj := controllertest.Read[corev1.ConfigMap](t, s.API, namespace+"/"+machinerecord.CleanupName(host, owner))
	r, err := gzip.NewReader(bytes.NewReader(obj.BinaryData[machinerecord.Key]))
	if err != nil {
		t.Fatal(err)
	}
	var made machinerecord.Cleanup
	if err := json.NewDecoder(r).Decode(&made); err != nil {
		t.Fatal(err)
	}
	return made
}

// TestARecordIsOfOneUseOfAServer: a claim that lets go of its server and takes it again dirties it again.
func TestARecordIsOfOneUseOfAServer(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.cleans(inspection.CleanMetadata)
		claim := s.reserved(t)
		s.change(t, func(o *metalv1.Server) { o.Spec.ServerClaimRef = nil })
		s.cleaning(t)
		s.mustTell(t, both, good)
		s.pass(t, 20*time.Second)
		s.is(t, metalv1.ServerStateAvailable)
		s.change(t, func(o *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationClaimedBy, string(claim.UID))
			o.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "ns", Name: "c"}
			o.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: "ns", Name: "c"}
		})
		s.pass(t, 20*time.Second)
		s.is(t, metalv1.ServerStateReserved)
		s.says(t, metalv1.ConditionCleaned, metav1.ConditionFalse, "InUse")
		s.ends(t, claim)
		s.cleaning(t)
	})
}

func TestTheFirstReportOfACleanupIsTrue(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		claim := s.released(t, inspection.CleanMetadata)
		s.mustTell(t, both, bad)
		s.mustTell(t, both, bad) // its answer was lost
		s.mustTell(t, both, good)
		if made := readCleanup(t, s, string(claim.UID)); made.Outcome != machinerecord.NotClean || made.Disks[0].Path != bad.Path {
			t.Errorf("on record: %+v", made)
		}
		if err := s.tells(t, both, nil); err == nil {
			t.Error("an agent that has cleaned is told to clean")
		}
	})
}

func TestReportsOfCleanupsAreTakenInCleanupAlone(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.released(t, inspection.CleanMetadata)
		for name, change := range map[string]func(*metalv1.Server){
			"claimed": func(o *metalv1.Server) {
				o.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "ns", Name: "x"}
			},
			"not clean":  func(o *metalv1.Server) { o.Spec.Taints = []metalv1.Taint{{Key: metalv1.TaintNotClean}} },
			"not marked": func(o *metalv1.Server) { delete(o.Annotations, metalv1.AnnotationClaimedBy) },
		} {
			before := s.read(t)
			s.change(t, change)
			for _, disks := range [][]inspection.DiskCleanup{nil, {good}} {
				if err := s.tells(t, both, disks); err == nil {
					t.Errorf("%s: taken", name)
				}
			}
			s.change(t, func(o *metalv1.Server) { o.Spec, o.Annotations = before.Spec, before.Annotations })
		}
		intake := reportintake.Intake{Client: s.API, APIReader: s.API, Namespace: namespace, Clock: s.API.Clock}
		forged := inspection.Registration{SystemUUID: uuid}
		if forged.Data.Cleanup = []inspection.DiskCleanup{good}; intake.Register(t.Context(), forged) == nil {
			t.Error("a cleanup was believed that nobody proved to have done")
		}
	})
}

func TestOldRecordsArePruned(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		for i := range keptCleanups + 3 {
			s.change(t, func(o *metalv1.Server) {
				metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationClaimedBy, fmt.Sprintf("claim-%d", i))
			})
			s.pass(t, 2*time.Second)
			s.is(t, metalv1.ServerStateAvailable)
		}
		foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "x-cleanup-y", Labels: map[string]string{machinerecord.Label: machinerecord.KindCleanup}, Annotations: map[string]string{machinerecord.AnnotationServer: "x"}}}
		s.Add(t, foreign)
		var names []string
		records, err := s.cleanups(t.Context(), host)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			names = append(names, strings.TrimPrefix(r.Name, host+"-cleanup-"))
		}
		if want := []string{"claim-7", "claim-6", "claim-5", "claim-4", "claim-3"}; !slices.Equal(names, want) {
			t.Errorf("kept: %v, want %v", names, want)
		}
	})
}
